/*
 * The handle of the driver of one directory, and its functions in other files.
 */
#pragma once

#include "drivers/file/directory.h"

struct file_backend {
    struct arena *arena; /* holds this struct and its strings */
    struct directory_settings settings;
    struct directory directory;
    const char *pool;
    const char *raw_type; /* driver_volume_type of a raw file */
    bool only_raw;        /* configured as gpfs: only raw volumes can be connected */
};

/* Its location and format. */
struct driver_created file_describe(const struct file_backend *backend, struct arena *arena,
                                    const char *format);

/* file_snapshot.c */
enum driver_outcome file_create_snapshot(void *handle, struct arena *arena,
                                         const struct driver_volume *volume,
                                         const struct driver_snapshot *snapshot,
                                         const struct driver_progress *progress,
                                         struct driver_created *ret, struct error *err);
enum driver_outcome file_delete_snapshot(void *handle, struct arena *arena,
                                         const struct driver_volume *volume,
                                         const struct driver_snapshot *snapshot,
                                         const struct driver_progress *progress, struct error *err);
int file_prepare_assist(void *handle, struct arena *arena, const struct driver_volume *volume,
                        const struct driver_snapshot *snapshot, bool deletes,
                        struct driver_assist *ret, struct error *err);
int file_complete_assist(void *handle, struct arena *arena, const struct driver_volume *volume,
                         const struct driver_snapshot *snapshot, bool deletes,
                         enum driver_reported told, struct driver_created *ret, struct error *err);
int file_list_snapshots(void *handle, struct arena *arena,
                        void (*found)(void *arg, const char *name_id, int64_t bytes), void *arg,
                        struct error *err);
int file_clone_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                      const struct driver_volume *source, const struct driver_progress *progress,
                      struct driver_created *ret, struct error *err);
int file_clone_snapshot(void *handle, struct arena *arena, const struct driver_volume *volume,
                        const struct driver_snapshot *source,
                        const struct driver_progress *progress, struct driver_created *ret,
                        struct error *err);
int file_revert_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                       const struct driver_snapshot *snapshot,
                       const struct driver_progress *progress, struct error *err);

/* file_manage.c */
int file_get_manageable(void *handle, struct arena *arena, const struct driver_volume *volume,
                        const char *source_name, int64_t *ret_bytes, struct error *err);
int file_manage_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                       const char *source_name, struct driver_created *ret, struct error *err);
int file_unmanage_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                         struct error *err);
int file_list_manageable(void *handle, struct arena *arena, const char *pool,
                         void (*found)(void *arg, const struct driver_candidate *candidate),
                         void *arg, struct error *err);
int file_get_manageable_snapshot(void *handle, struct arena *arena,
                                 const struct driver_volume *volume,
                                 const struct driver_snapshot *snapshot, const char *source_name,
                                 struct driver_candidate *ret, struct error *err);
int file_manage_snapshot(void *handle, struct arena *arena, const struct driver_volume *volume,
                         const struct driver_snapshot *snapshot,
                         const struct driver_candidate *source, struct driver_created *ret,
                         struct error *err);
int file_unmanage_snapshot(void *handle, struct arena *arena, const struct driver_volume *volume,
                           const struct driver_snapshot *snapshot, struct error *err);
int file_list_manageable_snapshots(void *handle, struct arena *arena, const char *pool,
                                   void (*found)(void *arg,
                                                 const struct driver_candidate *candidate),
                                   void *arg, struct error *err);
