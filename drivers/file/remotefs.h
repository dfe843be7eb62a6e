/*
 * Volumes as files of mounted shares: the common part of NFS, its relatives and Quobyte.
 *
 * A driver of this family is a struct remotefs_kind and its options.  Every share is mounted at
 * <base>/<MD5 of its text> (as on the compute side); an existing mount there is used as it is.  A
 * share that cannot be mounted at the start is retried at each get_pools().
 */
#pragma once

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
int remotefs_get_pools(void *handle, struct arena *arena, struct driver_pool **ret,
                       struct error *err);
int remotefs_create_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                           struct driver_created *ret, struct error *err);
int remotefs_delete_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                           struct error *err);
int remotefs_rename_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                           const char *new_name_id, struct error *err);
enum driver_outcome remotefs_extend_volume(void *handle, struct arena *arena,
                                           const struct driver_volume *volume, int64_t new_gb,
                                           struct error *err);
int remotefs_get_size(void *handle, struct arena *arena, const struct driver_volume *volume,
                      int64_t *ret_bytes, struct error *err);
int remotefs_connect(void *handle, struct arena *arena, const struct driver_volume *volume,
                     const json_t *connector, json_t **ret, struct error *err);
int remotefs_list_volumes(void *handle, struct arena *arena,
                          void (*found)(void *arg, const char *name_id, int64_t bytes), void *arg,
                          struct error *err);
int remotefs_list_drafts(void *handle, struct arena *arena,
                         void (*found)(void *arg, const struct driver_draft *draft), void *arg,
                         struct error *err);

enum driver_outcome remotefs_create_snapshot(void *handle, struct arena *arena,
                                             const struct driver_volume *volume,
                                             const struct driver_snapshot *snapshot,
                                             const struct driver_progress *progress,
                                             struct driver_created *ret, struct error *err);
enum driver_outcome remotefs_delete_snapshot(void *handle, struct arena *arena,
                                             const struct driver_volume *volume,
                                             const struct driver_snapshot *snapshot,
                                             const struct driver_progress *progress,
                                             struct error *err);
int remotefs_prepare_assist(void *handle, struct arena *arena, const struct driver_volume *volume,
                            const struct driver_snapshot *snapshot, bool deletes,
                            struct driver_assist *ret, struct error *err);
int remotefs_complete_assist(void *handle, struct arena *arena, const struct driver_volume *volume,
                             const struct driver_snapshot *snapshot, bool deletes,
                             enum driver_reported told, struct driver_created *ret,
                             struct error *err);
int remotefs_list_snapshots(void *handle, struct arena *arena,
                            void (*found)(void *arg, const char *name_id, int64_t bytes), void *arg,
                            struct error *err);
int remotefs_clone_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                          const struct driver_volume *source,
                          const struct driver_progress *progress, struct driver_created *ret,
                          struct error *err);
int remotefs_clone_snapshot(void *handle, struct arena *arena, const struct driver_volume *volume,
                            const struct driver_snapshot *source,
                            const struct driver_progress *progress, struct driver_created *ret,
                            struct error *err);
int remotefs_revert_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                           const struct driver_snapshot *snapshot,
                           const struct driver_progress *progress, struct error *err);

int remotefs_get_manageable(void *handle, struct arena *arena, const struct driver_volume *volume,
                            const char *source_name, int64_t *ret_bytes, struct error *err);
int remotefs_manage_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                           const char *source_name, struct driver_created *ret, struct error *err);
int remotefs_unmanage_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                             struct error *err);
int remotefs_list_manageable(void *handle, struct arena *arena, const char *pool,
                             void (*found)(void *arg, const struct driver_candidate *candidate),
                             void *arg, struct error *err);

int remotefs_get_manageable_snapshot(void *handle, struct arena *arena,
                                     const struct driver_volume *volume,
                                     const struct driver_snapshot *snapshot,
                                     const char *source_name, struct driver_candidate *ret,
                                     struct error *err);
int remotefs_manage_snapshot(void *handle, struct arena *arena, const struct driver_volume *volume,
                             const struct driver_snapshot *snapshot,
                             const struct driver_candidate *source, struct driver_created *ret,
                             struct error *err);
int remotefs_unmanage_snapshot(void *handle, struct arena *arena,
                               const struct driver_volume *volume,
                               const struct driver_snapshot *snapshot, struct error *err);
int remotefs_list_manageable_snapshots(void *handle, struct arena *arena, const char *pool,
                                       void (*found)(void *arg,
                                                     const struct driver_candidate *candidate),
                                       void *arg, struct error *err);
int remotefs_get_usage(void *handle, struct arena *arena, const struct driver_volume *volume,
                       int64_t *ret_bytes, struct error *err);
int remotefs_reclaim_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                            const struct driver_progress *progress, int64_t *ret_before,
                            struct error *err);

/* Properties of the whole family. */
#define REMOTEFS_PROPERTIES (DRIVER_ONLINE_EXTEND | DRIVER_THIN | DRIVER_THICK)

/* The members of struct driver that all of the family share. */
#define REMOTEFS_CALLS                                                                            \
    .close = remotefs_close, .get_pools = remotefs_get_pools,                                     \
    .create_volume = remotefs_create_volume, .delete_volume = remotefs_delete_volume,             \
    .rename_volume = remotefs_rename_volume, .extend_volume = remotefs_extend_volume,             \
    .get_size = remotefs_get_size, .connect = remotefs_connect,                                   \
    .list_volumes = remotefs_list_volumes, .list_drafts = remotefs_list_drafts,                   \
    .create_snapshot = remotefs_create_snapshot, .delete_snapshot = remotefs_delete_snapshot,     \
    .list_snapshots = remotefs_list_snapshots, .clone_volume = remotefs_clone_volume,             \
    .clone_snapshot = remotefs_clone_snapshot, .prepare_assist = remotefs_prepare_assist,         \
    .complete_assist = remotefs_complete_assist, .revert_volume = remotefs_revert_volume,         \
    .get_manageable = remotefs_get_manageable, .manage_volume = remotefs_manage_volume,           \
    .unmanage_volume = remotefs_unmanage_volume, .list_manageable = remotefs_list_manageable,     \
    .get_manageable_snapshot = remotefs_get_manageable_snapshot,                                  \
    .manage_snapshot = remotefs_manage_snapshot, .unmanage_snapshot = remotefs_unmanage_snapshot, \
    .list_manageable_snapshots = remotefs_list_manageable_snapshots,                              \
    .get_usage = remotefs_get_usage, .reclaim_volume = remotefs_reclaim_volume
