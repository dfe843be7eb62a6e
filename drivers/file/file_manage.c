/*
 * Managing and unmanaging existing files as volumes and snapshots.
 */
#include "drivers/file/file.private.h"
#include "drivers/file/snapshot_file_manage.h"
#include "drivers/file/volume_file.h"

int file_get_manageable(void *handle, struct arena *arena, const struct driver_volume *volume,
                        const char *source_name, int64_t *ret_bytes, struct error *err) {
    const struct file_backend *backend = handle;

    return volume_file_get_manageable(&backend->directory, arena, volume, source_name, ret_bytes,
                                      err);
}

int file_manage_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                       const char *source_name, struct driver_created *ret, struct error *err) {
    const struct file_backend *backend = handle;
    const char *format;

    if (volume_file_manage(&backend->directory, arena, volume, source_name, &format, err) < 0)
        return -1;
    *ret = file_describe(backend, arena, format);
    return 0;
}

int file_unmanage_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                         struct error *err) {
    const struct file_backend *backend = handle;

    return volume_file_unmanage(&backend->directory, arena, volume, err);
}

int file_list_manageable(void *handle, struct arena *arena, const char *pool,
                         void (*found)(void *arg, const struct driver_candidate *candidate),
                         void *arg, struct error *err) {
    const struct file_backend *backend = handle;

    (void)pool;
    return volume_file_list_manageable(&backend->directory, arena, found, arg, err);
}

int file_get_manageable_snapshot(void *handle, struct arena *arena,
                                 const struct driver_volume *volume,
                                 const struct driver_snapshot *snapshot, const char *source_name,
                                 struct driver_candidate *ret, struct error *err) {
    const struct file_backend *backend = handle;

    return snapshot_file_get_manageable(&backend->directory, arena, volume, snapshot, source_name,
                                        ret, err);
}

int file_manage_snapshot(void *handle, struct arena *arena, const struct driver_volume *volume,
                         const struct driver_snapshot *snapshot,
                         const struct driver_candidate *source, struct driver_created *ret,
                         struct error *err) {
    const struct file_backend *backend = handle;

    if (snapshot_file_manage(&backend->directory, arena, volume, snapshot, source, err) < 0)
        return -1;
    *ret = file_describe(backend, arena, volume->format);
    return 0;
}

int file_unmanage_snapshot(void *handle, struct arena *arena, const struct driver_volume *volume,
                           const struct driver_snapshot *snapshot, struct error *err) {
    const struct file_backend *backend = handle;

    return snapshot_file_unmanage(&backend->directory, arena, volume, snapshot, err);
}

int file_list_manageable_snapshots(void *handle, struct arena *arena, const char *pool,
                                   void (*found)(void *arg,
                                                 const struct driver_candidate *candidate),
                                   void *arg, struct error *err) {
    const struct file_backend *backend = handle;

    (void)pool;
    return snapshot_file_list_manageable(&backend->directory, arena, found, arg, err);
}
