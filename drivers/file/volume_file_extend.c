#include "drivers/file/volume_file.h"

#include "common/assert.h"
#include "common/cleanup.h"

#include <fcntl.h>
#include <string.h>

static enum driver_outcome grow_raw(const struct directory *directory,
                                    const struct driver_volume *volume, int fd, int64_t bytes,
                                    struct error *err) {
    assert(fd >= 0 && bytes > 0 && !volume->encrypted);
    switch (image_lock(fd, err)) {
    case IMAGE_HELD:
        return DRIVER_DEFERRED;
    case IMAGE_LOCKED:
        return image_grow_raw(fd, bytes, directory->settings->sparse, volume->fence, err) < 0
                   ? DRIVER_FAILED
                   : DRIVER_DONE;
    case IMAGE_LOCK_FAILED:
        break;
    }
    return DRIVER_FAILED;
}

/* The size that others find: by the name, with a descriptor of its own (X23).  What another program
 * has written is read from the disk; our own growth has been flushed. */
static int real_size(const struct directory *directory, struct arena *arena,
                     const struct driver_volume *volume, int64_t *ret, struct error *err) {
    struct volume_image image;
    autoclose int fd = volume_image_open(directory, arena, volume, O_RDONLY, &image, err);

    if (fd < 0)
        return -1;
    if (strcmp(image.format, "raw") != 0 && volume_image_flush(fd, volume, &image, err) < 0)
        return -1;
    *ret = image.facts.virtual_bytes;
    return 0;
}

static int check_grown(const struct directory *directory, struct arena *arena,
                       const struct driver_volume *volume, int64_t bytes, struct error *err) {
    int64_t real = 0;

    if (real_size(directory, arena, volume, &real, err) < 0)
        return error_context(err, "reading the size back");
    if (real < bytes)
        return error_set(err, ERROR_BACKEND,
                         "The image of volume %s still has %jd bytes after the resize to %jd.",
                         volume->id, (intmax_t)real, (intmax_t)bytes);
    return 0;
}

static enum driver_outcome grow(const struct directory *directory, struct arena *arena,
                                const struct driver_volume *volume,
                                const struct volume_image *image, int fd, int64_t bytes,
                                struct error *err) {
    enum driver_outcome outcome;

    assert(bytes > image->facts.virtual_bytes); /* never less than before */
    outcome = strcmp(image->format, "raw") == 0
                  ? grow_raw(directory, volume, fd, bytes, err)
                  : qemu_img_resize(arena, &directory->settings->qemu_img,
                                    directory_path(directory, arena, image->name), image->format,
                                    bytes, err);
    if (outcome != DRIVER_DONE)
        return outcome;
    /* A failure to write that another descriptor was told is told to this one, too: it was open
     * before. */
    if (strcmp(image->format, "raw") != 0 && image_flush(fd, err) < 0)
        return DRIVER_FAILED;
    return check_grown(directory, arena, volume, bytes, err) < 0 ? DRIVER_FAILED : DRIVER_DONE;
}

/* Must the compute side grow it, whatever the locks show? */
static bool must_defer(const struct directory *directory, const struct driver_volume *volume,
                       const struct volume_image *image) {
    bool shared_raw = volume->multiattach && strcmp(image->format, "raw") == 0;

    if (volume->encrypted)
        return true;
    /* A raw file that several guests share grows below them without harm (D10); others need a
     * trustworthy lock (D6). */
    return volume->attached && !directory->locks_trusted && !shared_raw;
}

enum driver_outcome volume_file_extend(const struct directory *directory, struct arena *arena,
                                       const struct driver_volume *volume, int64_t new_gb,
                                       struct error *err) {
    int64_t bytes = volume_image_bytes(new_gb);
    struct volume_image image;
    autoclose int lock = -1, fd = -1;

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
    if (must_defer(directory, volume, &image))
        return DRIVER_DEFERRED;
    if (driver_fence_check(volume->fence, err) < 0)
        return DRIVER_FAILED;
    return grow(directory, arena, volume, &image, fd, bytes, err);
}
