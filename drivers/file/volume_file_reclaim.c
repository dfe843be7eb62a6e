#include "drivers/file/volume_file.h"

#include "common/cleanup.h"
#include "drivers/file/chain_snapshot.h"
#include "drivers/file/image_punch.h"
#include "drivers/file/volume_name.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

int volume_file_get_usage(const struct directory *directory, struct arena *arena,
                          const struct driver_volume *volume, int64_t *ret_bytes,
                          struct error *err) {
    struct volume_image image;
    autoclose int fd = volume_image_open(directory, arena, volume, O_RDONLY, &image, err);

    return fd < 0 ? -1 : image_get_usage(fd, ret_bytes, err);
}

/* Of files that the volume no longer needs. */
static int end_deletes(const struct chain_work *work, const struct driver_progress *progress,
                       struct error *err) {
    const char *name = volume_name(work->arena, work->volume->name_id, err);
    autoclose int lock = -1;
    struct chain chain;

    if (!name || chain_read(work->directory, work->arena, name, &chain, err) < 0)
        return -1;
    return chain_has_notes(&chain) && !chain.deleted &&
                   (chain_enter(work, &chain, &lock, err) < 0 ||
                    chain_snapshot_end_deletes(work, progress, err) < 0)
               ? -1
               : 0;
}

static int reclaim_refuse(const struct driver_volume *volume, const char *why, struct error *err) {
    return error_set(err, ERROR_BAD_REQUEST, "Space of volume %s cannot be reclaimed: %s.",
                     volume->id, why);
}

int volume_file_reclaim(const struct directory *directory, struct arena *arena,
                        const struct driver_volume *volume, const struct driver_progress *progress,
                        struct error *err) {
    struct image_punch how = { .fence = volume->fence, .progress = progress };
    enum image_hold hold;
    struct volume_image image;
    struct stat status;
    autoclose int lock = -1, fd = -1;

    if (driver_fence_check(volume->fence, err) < 0)
        return -1;
    /* For a worker that is paused between check and effect, only the lock protects the image. */
    if (!directory->locks_trusted)
        return reclaim_refuse(
            volume, "locks of its mount say nothing, and a guest could write meanwhile", err);
    if (end_deletes(
            &(struct chain_work){ directory, arena, volume, volume->fence, volume->attempt },
            progress, err) < 0)
        return -1;
    if (volume_image_lock(directory, arena, volume, VOLUME_SHARED, volume->fence, &lock, err) < 0)
        return -1;
    fd = volume_image_open(directory, arena, volume, O_RDWR, &image, err);
    if (fd < 0 || volume_image_check_own(directory, arena, volume, &image, err) < 0)
        return -1;
    how.qcow2 = strcmp(image.format, "qcow2") == 0;
    if (!how.qcow2 && !directory->settings->sparse)
        return reclaim_refuse(volume, "its backend allocates all space of a volume at once", err);
    if (fstat(fd, &status) < 0)
        return error_errno(err, ERROR_BACKEND, "reading the space usage of %s", image.name);
    if (driver_fence_take_long(volume->fence, (int64_t)status.st_blocks * 512, 0, err) < 0)
        return -1;
    /* Opening it for writing is refused as long as the descriptor is open. */
    hold = volume->attached ? IMAGE_HELD : image_lock_still(fd, err);
    if (hold == IMAGE_HELD)
        return error_set(err, ERROR_CONFLICT, "Volume %s " IMAGE_HELD_TEXT, volume->id);
    return hold == IMAGE_LOCKED ? image_punch(fd, &how, err) : -1;
}
