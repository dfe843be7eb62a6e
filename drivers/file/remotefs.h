/*
 * Volumes as files of mounted shares: the common part of NFS, its relatives and Quobyte.
 *
 * A driver of this family is a struct remotefs_kind and its options.  Every share is mounted at
 * <base>/<MD5 of its text> (as on the compute side); an existing mount there is used as it is.  A
 * share that cannot be mounted at the start is retried at each get_pools().
 */
#pragma once

#include "drivers/file/file_store.h"
#include "drivers/file/mounted_share.h"

struct remotefs_kind {
    const struct driver *driver;
    const char *volume_type;      /* driver_volume_type of the connection */
    const char *mount_program;    /* the default; an option overrides it */
    bool pool_per_share;          /* else all shares are one pool */
    const char *base_key;         /* name of its option */
    const struct option *options; /* those of its own; the last of the driver's */
    struct mount_method method;

    /* How many, or -1; text that lives as long as the arena. */
    int (*load_shares)(const struct driver_backend *backend, struct arena *arena,
                       struct share **ret, struct error *err);
};

int remotefs_open(const struct remotefs_kind *kind, const struct driver_backend *backend,
                  void **ret_handle, struct error *err);

void remotefs_close(void *handle);
driver_get_pools_call remotefs_get_pools;
driver_create_volume_call remotefs_create_volume;
driver_connect_call remotefs_connect;

/* Properties of the whole family. */
#define REMOTEFS_PROPERTIES (DRIVER_CONTENT | DRIVER_ONLINE_EXTEND | DRIVER_THIN | DRIVER_THICK)

/* The members of struct driver that all of the family share. */
#define REMOTEFS_CALLS                                        \
    .close = remotefs_close, .get_pools = remotefs_get_pools, \
    .create_volume = remotefs_create_volume, .connect = remotefs_connect, FILE_STORE_CALLS
