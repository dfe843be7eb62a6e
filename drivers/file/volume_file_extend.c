#include "drivers/file/volume_file.h"

#include "common/assert.h"
#include "common/cleanup.h"

#include <fcntl.h>
#include <string.h>

/* The size that others find: by the name, with a descriptor of its own (X23).  What another program
 * has written is read from the disk; our own growth has been flushed. */
static int check_grown(const struct directory *directory, struct arena *arena,
                       const struct driver_volume *volume, int64_t bytes, struct error *err) {
    struct volume_image image;
    autoclose int fd = volume_image_open(directory, arena, volume, O_RDONLY, &image, err);

    if (fd < 0 ||
        (strcmp(image.format, "raw") != 0 && volume_image_flush(fd, volume, &image, err) < 0))
        return error_context(err, "reading the size back");
    if (image.facts.virtual_bytes < bytes)
        return error_set(err, ERROR_BACKEND,
                         "The image of volume %s still has %jd bytes after the resize to %jd.",
                         volume->id, (intmax_t)image.facts.virtual_bytes, (intmax_t)bytes);
    return 0;
}

static enum driver_outcome grow(const struct directory *directory, struct arena *arena,
                                const struct driver_volume *volume,
                                const struct volume_image *image, int fd, int64_t bytes,
                                struct error *err) {
    bool raw = strcmp(image->format, "raw") == 0;
    enum driver_outcome outcome = DRIVER_DONE;
    enum image_hold hold;

    assert(fd >= 0 && bytes > image->facts.virtual_bytes); /* never less than before */
    if (raw) {
        assert(!volume->encrypted);
        hold = image_lock(fd, err);
        if (hold != IMAGE_LOCKED)
            return hold == IMAGE_HELD ? DRIVER_DEFERRED : DRIVER_FAILED;
        if (image_grow_raw(fd, bytes, directory->settings->sparse, volume->fence, err) < 0)
            return DRIVER_FAILED;
    } else {
        outcome = qemu_img_resize(arena, &directory->settings->qemu_img,
                                  directory_path(directory, arena, image->name), image->format,
                                  bytes, err);
    }
    if (outcome != DRIVER_DONE)
        return outcome;
    /* A failure to write that another descriptor was told is told to this one, too: it was open
     * before. */
    if (!raw && image_flush(fd, err) < 0)
        return DRIVER_FAILED;
    return check_grown(directory, arena, volume, bytes, err) < 0 ? DRIVER_FAILED : DRIVER_DONE;
}

enum driver_outcome volume_file_extend(const struct directory *directory, struct arena *arena,
                                       const struct driver_volume *volume, int64_t new_gb,
                                       struct error *err) {
    int64_t bytes = volume_image_bytes(new_gb);
    struct volume_image image;
    autoclose int lock = -1, fd = -1;
    bool shared_raw;

    if (volume_image_lock(directory, arena, volume, VOLUME_TO_GROW, volume->fence, &lock, err) < 0)
        return DRIVER_FAILED;
    fd = volume_image_open(directory, arena, volume, O_RDWR, &image, err);
    if (fd < 0 || volume_image_check_own(directory, arena, volume, &image, err) < 0 ||
        chain_remove_drafts(directory, arena, &image.chain, err) < 0)
        return DRIVER_FAILED;
    /* A guest or a dead worker has grown it: perhaps in memory only. */
    if (image.facts.virtual_bytes >= bytes && volume_image_flush(fd, volume, &image, err) < 0)
        return DRIVER_FAILED;
    if (image.facts.virtual_bytes >= bytes)
        return DRIVER_DONE;
    if (directory_check_space(directory, bytes - image.facts.virtual_bytes, err) < 0)
        return DRIVER_FAILED;
    if (image.facts.encrypted && !volume->encrypted)
        return error_set(err, ERROR_BACKEND, "Volume %s is encrypted but not recorded so.",
                         volume->id);
    if (volume->encrypted && !volume->attached)
        return error_set(err, ERROR_BACKEND,
                         "Volume %s is encrypted: it can grow only while attached.", volume->id);
    /* The compute side grows it, whatever the locks show.  A raw file that several guests share
     * grows below them without harm (D10); others need a trustworthy lock (D6). */
    shared_raw = volume->multiattach && strcmp(image.format, "raw") == 0;
    if (volume->encrypted || (volume->attached && !directory->locks_trusted && !shared_raw))
        return DRIVER_DEFERRED;
    if (driver_fence_check(volume->fence, err) < 0)
        return DRIVER_FAILED;
    return grow(directory, arena, volume, &image, fd, bytes, err);
}
