/*
 * Common parts of the NFS drivers: options, list of shares, mounting.
 */
#pragma once

#include "drivers/file/remotefs.h"

extern const struct option *const nfs_options[];

int nfs_load_shares(const struct driver_backend *backend, struct arena *arena, struct share **ret,
                    struct error *err);
int nfs_mount(const struct driver_backend *backend, struct arena *arena,
              const struct mount_programs *programs, const struct share *share, const char *point,
              struct error *err);

#define NFS_KIND                                                                        \
    .volume_type = "nfs", .mount_program = "mount", .base_key = "nfs_mount_point_base", \
    .sparse_key = "nfs_sparsed_volumes", .qcow2_key = "nfs_qcow2_volumes",              \
    .overlay_key = "nfs_snapshot_support", .load_shares = nfs_load_shares,              \
    .method = { .mount = nfs_mount }
