/*
 * The functions of driver.def for volumes that are files: of one directory (file.c) or of mounted
 * shares (remotefs.h).  The handle of such a driver begins with a struct file_store.
 */
#pragma once

#include "drivers/file/directory.h"

/* Fixed once the backend is open. */
struct file_store {
    const char *backend;          /* its name; not needed by a single one */
    int count;                    /* of the directories */
    const char *const *locations; /* the provider_location of the volumes in each */
    bool single;             /* one directory, whichever location is recorded; plain file names */
    bool pool_per_directory; /* else all are one pool */
    /* NULL and `err`: unusable now. */
    const struct directory *(*use)(const struct file_store *store, int i, struct error *err);
};

/* Of the directory with this location; -1: there is none. */
int file_store_number(const struct file_store *store, const char *location);
/* That directory; NULL and `err`: there is none, or it is unusable now. */
const struct directory *file_store_find(const struct file_store *store, const char *location,
                                        struct error *err);
/* That of a created volume. */
const struct directory *file_store_find_volume(const struct file_store *store,
                                               const struct driver_volume *volume,
                                               struct error *err);
/* May a volume without a recorded location be in this directory?  Its create has not ended, and may
 * have made the file in any of its pool, unless its only attempt has reported the place. */
bool file_store_may_have(const struct file_store *store, int i, const struct driver_volume *volume);
/* An object in the directory with this location. */
struct driver_created file_store_created(const struct file_store *store, struct arena *arena,
                                         const char *location, const char *format);

driver_delete_volume_call file_store_delete_volume;
driver_rename_volume_call file_store_rename_volume;
driver_extend_volume_call file_store_extend_volume;
driver_get_size_call file_store_get_size;
driver_list_volumes_call file_store_list_volumes;
driver_list_drafts_call file_store_list_drafts;
driver_get_usage_call file_store_get_usage;
driver_reclaim_volume_call file_store_reclaim_volume;

/* file_store_snapshot.c */
driver_create_snapshot_call file_store_create_snapshot;
driver_delete_snapshot_call file_store_delete_snapshot;
driver_prepare_assist_call file_store_prepare_assist;
driver_complete_assist_call file_store_complete_assist;
driver_list_snapshots_call file_store_list_snapshots;
driver_clone_volume_call file_store_clone_volume;
driver_clone_snapshot_call file_store_clone_snapshot;
driver_revert_volume_call file_store_revert_volume;
driver_open_volume_data_call file_store_open_volume_data;
driver_open_snapshot_data_call file_store_open_snapshot_data;

/* file_store_manage.c */
driver_inspect_volume_call file_store_inspect_volume;
driver_get_manageable_call file_store_get_manageable;
driver_manage_volume_call file_store_manage_volume;
driver_unmanage_volume_call file_store_unmanage_volume;
driver_list_manageable_call file_store_list_manageable;
driver_get_manageable_snapshot_call file_store_get_manageable_snapshot;
driver_manage_snapshot_call file_store_manage_snapshot;
driver_unmanage_snapshot_call file_store_unmanage_snapshot;
driver_list_manageable_snapshots_call file_store_list_manageable_snapshots;

/* The members of struct driver for them; a driver adds its own open, close, get_pools,
 * create_volume and connect. */
#define FILE_STORE_CALLS                                                                          \
    .delete_volume = file_store_delete_volume, .rename_volume = file_store_rename_volume,         \
    .extend_volume = file_store_extend_volume, .get_size = file_store_get_size,                   \
    .list_volumes = file_store_list_volumes, .list_drafts = file_store_list_drafts,               \
    .create_snapshot = file_store_create_snapshot, .delete_snapshot = file_store_delete_snapshot, \
    .prepare_assist = file_store_prepare_assist, .complete_assist = file_store_complete_assist,   \
    .list_snapshots = file_store_list_snapshots, .clone_volume = file_store_clone_volume,         \
    .clone_snapshot = file_store_clone_snapshot, .revert_volume = file_store_revert_volume,       \
    .inspect_volume = file_store_inspect_volume, .get_manageable = file_store_get_manageable,     \
    .manage_volume = file_store_manage_volume, .unmanage_volume = file_store_unmanage_volume,     \
    .list_manageable = file_store_list_manageable,                                                \
    .get_manageable_snapshot = file_store_get_manageable_snapshot,                                \
    .manage_snapshot = file_store_manage_snapshot,                                                \
    .unmanage_snapshot = file_store_unmanage_snapshot,                                            \
    .list_manageable_snapshots = file_store_list_manageable_snapshots,                            \
    .open_volume_data = file_store_open_volume_data,                                              \
    .open_snapshot_data = file_store_open_snapshot_data, .get_usage = file_store_get_usage,       \
    .reclaim_volume = file_store_reclaim_volume
