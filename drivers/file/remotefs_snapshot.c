#include "drivers/file/remotefs.h"

#include "common/cleanup.h"
#include "drivers/file/chain_assist.h"
#include "drivers/file/remotefs.private.h"
#include "drivers/file/snapshot_file.h"

/* A snapshot is on the share of its volume, and stays there. */
static const struct directory *snapshot_directory(const struct remotefs *remotefs,
                                                  const struct driver_snapshot *snapshot,
                                                  struct error *err) {
    const struct mounted_share *share;

    if (!snapshot->provider_location) {
        error_set(err, ERROR_NOT_FOUND, "Snapshot %s is recorded on no share.", snapshot->id);
        return NULL;
    }
    share = remotefs_use_share(remotefs, snapshot->provider_location, err);
    return share ? &share->directory : NULL;
}

static struct driver_created describe(struct arena *arena, const struct driver_volume *volume) {
    return (struct driver_created){ .provider_location =
                                        arena_text(arena, volume->provider_location),
                                    .format = volume->format };
}

enum driver_outcome remotefs_create_snapshot(void *handle, struct arena *arena,
                                             const struct driver_volume *volume,
                                             const struct driver_snapshot *snapshot,
                                             const struct driver_progress *progress,
                                             struct driver_created *ret, struct error *err) {
    const struct directory *directory = remotefs_volume_directory(handle, volume, err);
    enum driver_outcome outcome =
        directory ? snapshot_file_create(directory, arena, volume, snapshot, progress, err)
                  : DRIVER_FAILED;

    if (outcome == DRIVER_DONE)
        *ret = describe(arena, volume);
    return outcome;
}

int remotefs_prepare_assist(void *handle, struct arena *arena, const struct driver_volume *volume,
                            const struct driver_snapshot *snapshot, bool deletes,
                            struct driver_assist *ret, struct error *err) {
    const struct directory *directory = remotefs_volume_directory(handle, volume, err);

    return directory ? chain_assist_prepare(directory, arena, volume, snapshot, deletes, ret, err)
                     : -1;
}

int remotefs_complete_assist(void *handle, struct arena *arena, const struct driver_volume *volume,
                             const struct driver_snapshot *snapshot, bool deletes,
                             enum driver_reported told, struct driver_created *ret,
                             struct error *err) {
    const struct directory *directory = remotefs_volume_directory(handle, volume, err);
    int done = directory
                   ? chain_assist_complete(directory, arena, volume, snapshot, deletes, told, err)
                   : -1;

    if (done > 0)
        *ret = describe(arena, volume);
    return done;
}

/* For a snapshot that was never completed, only the volume's share is known. */
enum driver_outcome remotefs_delete_snapshot(void *handle, struct arena *arena,
                                             const struct driver_volume *volume,
                                             const struct driver_snapshot *snapshot,
                                             const struct driver_progress *progress,
                                             struct error *err) {
    const struct directory *directory = snapshot->provider_location
                                            ? snapshot_directory(handle, snapshot, err)
                                            : remotefs_volume_directory(handle, volume, err);

    return directory ? snapshot_file_delete(directory, arena, volume, snapshot, progress, err)
                     : DRIVER_FAILED;
}

int remotefs_list_snapshots(void *handle, struct arena *arena,
                            void (*found)(void *arg, const char *name_id, int64_t bytes), void *arg,
                            struct error *err) {
    const struct remotefs *remotefs = handle;

    for (int i = 0; i < remotefs->count; i++) {
        const struct mounted_share *share =
            remotefs_use_share(remotefs, remotefs->shares[i].share.address, err);

        if (!share || snapshot_file_list(&share->directory, arena, found, arg, err) < 0)
            return -1;
    }
    return 0;
}

/* On its source's share, where blocks may be shared, unless each share is a pool and the request
 * names another one.  All attempts use the same share, so each finds the file of another one. */
static int clone_source(const struct remotefs *remotefs, struct arena *arena,
                        const struct driver_volume *volume, const struct image_source *source,
                        const char *source_location, const struct driver_progress *progress,
                        struct driver_created *ret, struct error *err) {
    const char *location = volume->provider_location        ? volume->provider_location
                           : remotefs->kind->pool_per_share ? volume->pool
                                                            : source_location;
    const struct mounted_share *share = remotefs_use_share(remotefs, location, err);

    if (!share || volume_file_clone(&share->directory, arena, volume, source, progress, err) < 0)
        return -1;
    *ret = (struct driver_created){ .provider_location = arena_text(arena, share->share.address),
                                    .format = source->format };
    return 0;
}

int remotefs_clone_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                          const struct driver_volume *source,
                          const struct driver_progress *progress, struct driver_created *ret,
                          struct error *err) {
    const struct directory *directory = remotefs_volume_directory(handle, source, err);
    autosource struct image_source image = NO_SOURCE;

    if (!directory || image_source_open_volume(directory, arena, source, volume, &image, err) < 0)
        return -1;
    return clone_source(handle, arena, volume, &image, source->provider_location, progress, ret,
                        err);
}

int remotefs_clone_snapshot(void *handle, struct arena *arena, const struct driver_volume *volume,
                            const struct driver_snapshot *source,
                            const struct driver_progress *progress, struct driver_created *ret,
                            struct error *err) {
    const struct directory *directory = snapshot_directory(handle, source, err);
    autosource struct image_source image = NO_SOURCE;

    if (!directory || image_source_open_snapshot(directory, arena, source, volume, &image, err) < 0)
        return -1;
    return clone_source(handle, arena, volume, &image, source->provider_location, progress, ret,
                        err);
}

int remotefs_revert_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                           const struct driver_snapshot *snapshot,
                           const struct driver_progress *progress, struct error *err) {
    const struct directory *to = remotefs_volume_directory(handle, volume, err);
    const struct directory *from = to ? snapshot_directory(handle, snapshot, err) : NULL;
    autosource struct image_source image = NO_SOURCE;

    if (!from || image_source_open_snapshot(from, arena, snapshot, NULL, &image, err) < 0)
        return -1;
    return volume_file_revert(to, arena, volume, &image, progress, err);
}
