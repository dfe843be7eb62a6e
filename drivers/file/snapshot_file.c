#include "drivers/file/snapshot_file.h"

#include "common/cleanup.h"
#include "drivers/file/image_source.h"
#include "drivers/file/volume_name.h"

#include <fcntl.h>

/* 1 it was made before, 0 it was not. */
static int accept_existing(const struct directory *directory, const char *name, const char *format,
                           struct error *err) {
    struct error missing = { .kind = ERROR_NONE };
    autoclose int fd = image_open(directory->fd, name, O_RDONLY, &missing);
    struct image_facts facts;

    if (fd < 0 && missing.kind == ERROR_NOT_FOUND)
        return 0;
    if (fd < 0)
        return error_set(err, missing.kind, "%s", missing.message);
    if (image_read_flushed(fd, format, &facts, err) < 0)
        return error_context(err, "%s exists already", name);
    return 1;
}

static enum driver_outcome make(const struct directory *directory, struct arena *arena,
                                const struct driver_volume *volume,
                                const struct driver_snapshot *snapshot, const char *name,
                                const struct driver_progress *progress, struct error *err) {
    autodraft struct draft draft = { 0 };
    struct image_source source;
    autoclose int fd = -1;
    int64_t bytes;
    int result;

    if (image_source_open_volume(directory, arena, volume, &source, err) < 0)
        return DRIVER_FAILED;
    fd = source.fd;
    if (driver_progress_tell(progress, 0, source.virtual_bytes, err) < 0 ||
        draft_open(directory, arena, name, snapshot->attempt, &draft, err) < 0)
        return DRIVER_FAILED;
    result = image_source_take(&source, &draft, false, snapshot->fence, progress, &bytes, err);
    if (result != 0)
        return result > 0 ? DRIVER_DEFERRED : DRIVER_FAILED;
    result = draft_publish(&draft, snapshot->fence, err);
    if (result > 0) /* another worker was quicker */
        result = accept_existing(directory, name, volume->format, err) > 0 ? 0 : -1;
    /* A pause in front of the name may have given it to what nobody wants any more. */
    return result < 0 || driver_fence_check(snapshot->fence, err) < 0 ? DRIVER_FAILED : DRIVER_DONE;
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
                   ? accept_existing(directory, name, volume->format, err)
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
