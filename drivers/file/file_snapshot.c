/*
 * Snapshots, clones and reverts in one local directory.
 */
#include "drivers/file/chain_assist.h"
#include "drivers/file/file.private.h"
#include "drivers/file/image_source.h"
#include "drivers/file/snapshot_file.h"
#include "drivers/file/volume_file.h"

enum driver_outcome file_create_snapshot(void *handle, struct arena *arena,
                                         const struct driver_volume *volume,
                                         const struct driver_snapshot *snapshot,
                                         const struct driver_progress *progress,
                                         struct driver_created *ret, struct error *err) {
    const struct file_backend *backend = handle;
    enum driver_outcome outcome =
        snapshot_file_create(&backend->directory, arena, volume, snapshot, progress, err);

    if (outcome == DRIVER_DONE)
        *ret = file_describe(backend, arena, volume->format);
    return outcome;
}

enum driver_outcome file_delete_snapshot(void *handle, struct arena *arena,
                                         const struct driver_volume *volume,
                                         const struct driver_snapshot *snapshot,
                                         const struct driver_progress *progress,
                                         struct error *err) {
    const struct file_backend *backend = handle;

    return snapshot_file_delete(&backend->directory, arena, volume, snapshot, progress, err);
}

int file_prepare_assist(void *handle, struct arena *arena, const struct driver_volume *volume,
                        const struct driver_snapshot *snapshot, bool deletes,
                        struct driver_assist *ret, struct error *err) {
    const struct file_backend *backend = handle;

    return chain_assist_prepare(&backend->directory, arena, volume, snapshot, deletes, ret, err);
}

int file_complete_assist(void *handle, struct arena *arena, const struct driver_volume *volume,
                         const struct driver_snapshot *snapshot, bool deletes,
                         enum driver_reported told, struct driver_created *ret, struct error *err) {
    const struct file_backend *backend = handle;
    int done =
        chain_assist_complete(&backend->directory, arena, volume, snapshot, deletes, told, err);

    if (done > 0)
        *ret = file_describe(backend, arena, volume->format);
    return done;
}

int file_list_snapshots(void *handle, struct arena *arena,
                        void (*found)(void *arg, const char *name_id, int64_t bytes), void *arg,
                        struct error *err) {
    const struct file_backend *backend = handle;

    return snapshot_file_list(&backend->directory, arena, found, arg, err);
}

static int clone_source(const struct file_backend *backend, struct arena *arena,
                        const struct driver_volume *volume, const struct image_source *source,
                        const struct driver_progress *progress, struct driver_created *ret,
                        struct error *err) {

    if (volume_file_clone(&backend->directory, arena, volume, source, progress, err) < 0)
        return -1;
    *ret = file_describe(backend, arena, source->format);
    return 0;
}

int file_clone_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                      const struct driver_volume *source, const struct driver_progress *progress,
                      struct driver_created *ret, struct error *err) {
    const struct file_backend *backend = handle;
    autosource struct image_source image = NO_SOURCE;

    if (image_source_open_volume(&backend->directory, arena, source, volume, &image, err) < 0)
        return -1;
    return clone_source(backend, arena, volume, &image, progress, ret, err);
}

int file_clone_snapshot(void *handle, struct arena *arena, const struct driver_volume *volume,
                        const struct driver_snapshot *source,
                        const struct driver_progress *progress, struct driver_created *ret,
                        struct error *err) {
    const struct file_backend *backend = handle;
    autosource struct image_source image = NO_SOURCE;

    if (image_source_open_snapshot(&backend->directory, arena, source, volume, &image, err) < 0)
        return -1;
    return clone_source(backend, arena, volume, &image, progress, ret, err);
}

int file_revert_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                       const struct driver_snapshot *snapshot,
                       const struct driver_progress *progress, struct error *err) {
    const struct file_backend *backend = handle;
    autosource struct image_source image = NO_SOURCE;

    if (image_source_open_snapshot(&backend->directory, arena, snapshot, NULL, &image, err) < 0)
        return -1;
    return volume_file_revert(&backend->directory, arena, volume, &image, progress, err);
}
