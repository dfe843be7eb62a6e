#include "drivers/file/file_store.h"

#include "common/cleanup.h"
#include "drivers/file/chain_assist.h"
#include "drivers/file/image_data.h"
#include "drivers/file/snapshot_file.h"

/* A snapshot is in the directory of its volume, and stays there. */
static const struct directory *find_snapshot(const struct file_store *store,
                                             const struct driver_snapshot *snapshot,
                                             struct error *err) {
    if (snapshot->provider_location || store->single)
        return file_store_find(store, snapshot->provider_location, err);
    error_set(err, ERROR_NOT_FOUND, "Snapshot %s is recorded on no share.", snapshot->id);
    return NULL;
}

enum driver_outcome file_store_create_snapshot(void *handle, struct arena *arena,
                                               const struct driver_volume *volume,
                                               const struct driver_snapshot *snapshot,
                                               const struct driver_progress *progress,
                                               struct driver_created *ret, struct error *err) {
    const struct directory *directory = file_store_find_volume(handle, volume, err);
    enum driver_outcome outcome;

    if (!directory)
        return DRIVER_FAILED;
    outcome = snapshot_file_create(directory, arena, volume, snapshot, progress, err);
    if (outcome == DRIVER_DONE)
        *ret = file_store_created(handle, arena, volume->provider_location, volume->format);
    return directory_result(directory, outcome, err);
}

int file_store_prepare_assist(void *handle, struct arena *arena, const struct driver_volume *volume,
                              const struct driver_snapshot *snapshot, bool deletes,
                              struct driver_assist *ret, struct error *err) {
    const struct directory *directory = file_store_find_volume(handle, volume, err);

    return directory ? directory_result(directory,
                                        chain_assist_prepare(directory, arena, volume, snapshot,
                                                             deletes, ret, err),
                                        err)
                     : -1;
}

int file_store_complete_assist(void *handle, struct arena *arena,
                               const struct driver_volume *volume,
                               const struct driver_snapshot *snapshot, bool deletes,
                               enum driver_reported told, struct driver_created *ret,
                               struct error *err) {
    const struct directory *directory = file_store_find_volume(handle, volume, err);
    int done = directory ? directory_result(directory,
                                            chain_assist_complete(directory, arena, volume,
                                                                  snapshot, deletes, told, err),
                                            err)
                         : -1;

    if (done > 0)
        *ret = file_store_created(handle, arena, volume->provider_location, volume->format);
    return done;
}

/* For a snapshot that was never completed, only the volume's directory is known. */
enum driver_outcome file_store_delete_snapshot(void *handle, struct arena *arena,
                                               const struct driver_volume *volume,
                                               const struct driver_snapshot *snapshot,
                                               const struct driver_progress *progress,
                                               struct error *err) {
    const struct directory *directory = snapshot->provider_location
                                            ? find_snapshot(handle, snapshot, err)
                                            : file_store_find_volume(handle, volume, err);
    enum driver_outcome outcome;

    if (!directory)
        return DRIVER_FAILED;
    outcome = snapshot_file_delete(directory, arena, volume, snapshot, progress, err);
    return directory_result(directory, outcome, err);
}

int file_store_list_snapshots(void *handle, struct arena *arena,
                              void (*found)(void *arg, const char *name_id, int64_t bytes),
                              void *arg, struct error *err) {
    const struct file_store *store = handle;

    for (int i = 0; i < store->count; i++) {
        const struct directory *directory = store->use(store, i, err);

        if (!directory || snapshot_file_list(directory, arena, found, arg, err) < 0)
            return -1;
    }
    return 0;
}

/* In its source's directory, where blocks may be shared, unless each is a pool and the request
 * names another one.  All attempts use the same, so each finds the file of another one. */
static int clone_source(const struct file_store *store, struct arena *arena,
                        const struct driver_volume *volume, const struct image_source *source,
                        const char *source_location, const struct driver_progress *progress,
                        struct driver_created *ret, struct error *err) {
    const char *location = volume->provider_location   ? volume->provider_location
                           : store->pool_per_directory ? volume->pool
                                                       : source_location;
    const struct directory *directory = file_store_find(store, location, err);

    ret->tried = arena_text(arena, location);
    if (!directory)
        return -1;
    if (volume_file_clone(directory, arena, volume, source, progress, err) < 0)
        return directory_result(directory, -1, err);
    *ret = file_store_created(store, arena, location, source->format);
    return 0;
}

int file_store_clone_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                            const struct driver_volume *source,
                            const struct driver_progress *progress, struct driver_created *ret,
                            struct error *err) {
    const struct directory *directory = file_store_find_volume(handle, source, err);
    autosource struct image_source image = NO_SOURCE;

    *ret = (struct driver_created){ .tried = "" };
    if (!directory || image_source_open_volume(directory, arena, source, volume, &image, err) < 0)
        return -1;
    return clone_source(handle, arena, volume, &image, source->provider_location, progress, ret,
                        err);
}

int file_store_clone_snapshot(void *handle, struct arena *arena, const struct driver_volume *volume,
                              const struct driver_snapshot *source,
                              const struct driver_progress *progress, struct driver_created *ret,
                              struct error *err) {
    const struct directory *directory = find_snapshot(handle, source, err);
    autosource struct image_source image = NO_SOURCE;

    *ret = (struct driver_created){ .tried = "" };
    if (!directory || image_source_open_snapshot(directory, arena, source, volume, &image, err) < 0)
        return -1;
    return clone_source(handle, arena, volume, &image, source->provider_location, progress, ret,
                        err);
}

int file_store_revert_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                             const struct driver_snapshot *snapshot,
                             const struct driver_progress *progress, struct error *err) {
    const struct directory *to = file_store_find_volume(handle, volume, err);
    const struct directory *from = to ? find_snapshot(handle, snapshot, err) : NULL;
    autosource struct image_source image = NO_SOURCE;
    int result;

    if (!from || image_source_open_snapshot(from, arena, snapshot, NULL, &image, err) < 0)
        return -1;
    result = volume_file_revert(to, arena, volume, &image, progress, err);
    return directory_result(to, result, err);
}

int file_store_open_volume_data(void *handle, struct arena *arena,
                                const struct driver_volume *volume, bool writable,
                                struct volume_io **ret, struct error *err) {
    const struct directory *directory = file_store_find_volume(handle, volume, err);

    if (!directory || image_data_open_volume(directory, arena, volume, writable, ret, err) < 0)
        return -1;
    volume_io_set_place(*ret, directory->path);
    return 0;
}

int file_store_open_snapshot_data(void *handle, struct arena *arena,
                                  const struct driver_volume *volume,
                                  const struct driver_snapshot *snapshot, struct volume_io **ret,
                                  struct error *err) {
    const struct directory *directory = find_snapshot(handle, snapshot, err);

    return directory ? image_data_open_snapshot(directory, arena, volume, snapshot, ret, err) : -1;
}
