#include "drivers/file/volume_image.h"

#include "common/cleanup.h"
#include "drivers/file/volume_name.h"

#include <string.h>

int volume_image_open(const struct directory *directory, struct arena *arena,
                      const struct driver_volume *volume, int flags, struct volume_image *ret,
                      struct error *err) {
    const char *name = volume_name(arena, volume->name_id, err);
    autoclose int fd = name ? image_open(directory->fd, name, flags, err) : -1;
    struct image_facts facts;
    bool raw;

    if (fd < 0)
        return -1;
    if (!image_format_known(volume->format))
        return error_set(err, ERROR_BACKEND, "Volume %s is recorded with the format %s.",
                         volume->id, volume->format ? volume->format : "(none)");
    raw = strcmp(volume->format, "raw") == 0;
    /* The content of an encrypted volume is not the guest's to choose, so here the look is safe. */
    if (raw && volume->encrypted && image_looks_qcow2(fd))
        return error_set(err, ERROR_BACKEND, "%s is recorded as raw but is qcow2.", name);
    if (raw && volume->encrypted && image_looks_luks(fd)) {
        if (qemu_img_info(arena, &directory->settings->qemu_img,
                          directory_path(directory, arena, name), "luks", &facts, err) < 0)
            return -1;
    } else if (image_read_facts(fd, volume->format, &facts, err) < 0) {
        return error_context(err, "%s", name);
    }
    *ret = (struct volume_image){ .name = name, .format = volume->format, .facts = facts };
    return take_fd(fd);
}

int volume_image_flush(int fd, const struct driver_volume *volume, struct volume_image *image,
                       struct error *err) {
    int result = volume->encrypted ? image_flush(fd, err)
                                   : image_read_flushed(fd, image->format, &image->facts, err);

    return result < 0 ? error_context(err, "volume %s", volume->id) : 0;
}

int volume_image_check_own(const struct driver_volume *volume, const struct volume_image *image,
                           struct error *err) {
    if (image->facts.external_data)
        return error_set(err, ERROR_BACKEND, "Volume %s keeps its data in another file.",
                         volume->id);
    if (image->facts.backing[0])
        return error_set(err, ERROR_BACKEND,
                         "Volume %s has an image below it that nobody recorded.", volume->id);
    return 0;
}
