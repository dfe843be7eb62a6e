/*
 * Common parts of the NFS drivers: options, list of shares, mounting.
 */
#pragma once

#include "drivers/file/remotefs.h"

extern const struct option nfs_own_options[];
extern const struct option *const nfs_options[];

int nfs_load_shares(const struct driver_backend *backend, struct arena *arena, struct share **ret,
                    struct error *err);
int nfs_mount(const struct driver_backend *backend, struct arena *arena,
              const struct mount_programs *programs, const struct share *share, const char *point,
              struct error *err);

#define NFS_KIND                                                                        \
    .volume_type = "nfs", .mount_program = "mount", .base_key = "nfs_mount_point_base", \
    .options = nfs_own_options, .load_shares = nfs_load_shares, .method = { .mount = nfs_mount }
