#include "drivers/file/snapshot_file.h"

#include "drivers/file/image_source.h"
#include "drivers/file/volume_name.h"

static enum driver_outcome make(const struct directory *directory, struct arena *arena,
                                const struct driver_volume *volume,
                                const struct driver_snapshot *snapshot, const char *name,
                                const struct driver_progress *progress, struct error *err) {
    autodraft struct draft draft = { 0 };
    autosource struct image_source source = NO_SOURCE;
    int64_t bytes;
    int result;

    if (image_source_open_volume(directory, arena, volume, &source, err) < 0 ||
        driver_progress_tell(progress, 0, source.virtual_bytes, err) < 0 ||
        draft_open(directory, arena, name, snapshot->attempt, &draft, err) < 0)
        return DRIVER_FAILED;
    result = image_source_take(&source, &draft, false, snapshot->fence, progress, &bytes, err);
    if (result != 0)
        return result > 0 ? DRIVER_DEFERRED : DRIVER_FAILED;
    result = image_source_publish(&draft, volume->format, 0, snapshot->fence, err);
    return result < 0 ? DRIVER_FAILED : DRIVER_DONE;
}

enum driver_outcome snapshot_file_create(const struct directory *directory, struct arena *arena,
                                         const struct driver_volume *volume,
                                         const struct driver_snapshot *snapshot,
                                         const struct driver_progress *progress,
                                         struct error *err) {
    const char *name = snapshot_name(arena, snapshot->name_id, err);
    enum driver_outcome outcome;
    int existing;

    if (!name || driver_fence_check(snapshot->fence, err) < 0)
        return DRIVER_FAILED;
    existing = image_format_known(volume->format)
                   ? image_source_find_made(directory, name, volume->format, 0, err)
                   : 0;
    if (existing < 0)
        return DRIVER_FAILED;
    outcome =
        existing ? DRIVER_DONE : make(directory, arena, volume, snapshot, name, progress, err);
    if (outcome != DRIVER_DONE)
        return outcome;
    if ((snapshot->attempt > 1 && volume_name_remove_unfinished(directory, arena, name, err) < 0) ||
        directory_flush(directory, err) < 0)
        return DRIVER_FAILED;
    return DRIVER_DONE;
}

int snapshot_file_delete(const struct directory *directory, struct arena *arena,
                         const struct driver_snapshot *snapshot, struct error *err) {
    const char *name = snapshot_name(arena, snapshot->name_id, err);

    if (!name)
        return -1;
    return volume_file_remove(directory, arena, name, snapshot->provider_location != NULL,
                              snapshot->fence, err);
}

int snapshot_file_list(const struct directory *directory,
                       void (*found)(void *arg, const char *name_id, int64_t bytes), void *arg,
                       struct error *err) {
    return volume_file_list_named(directory, SNAPSHOT_NAME_PREFIX, found, arg, err);
}
