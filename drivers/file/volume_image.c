#include "drivers/file/volume_image.h"

#include "common/cleanup.h"
#include "drivers/file/volume_name.h"

#include <string.h>

int volume_image_open(const struct directory *directory, struct arena *arena,
                      const struct driver_volume *volume, int flags, struct volume_image *ret,
                      struct error *err) {
    const char *name = volume_name(arena, volume->name_id, err), *format = volume->format;
    struct image_facts facts;
    struct chain chain;
    autoclose int fd = -1;
    bool raw;

    if (!name || chain_read(directory, arena, name, &chain, err) < 0)
        return -1;
    if (chain.deleted)
        return error_set(err, ERROR_NOT_FOUND, "The files of volume %s are being deleted.",
                         volume->id);
    name = chain.active;
    fd = image_open(directory->fd, name, flags, err);
    if (fd < 0)
        return -1;
    if (!image_format_known(format))
        return error_set(err, ERROR_BACKEND, "Volume %s is recorded with the format %s.",
                         volume->id, format ? format : "(none)");
    if (chain_is_layered(&chain))
        format = "qcow2";
    raw = strcmp(format, "raw") == 0;
    /* The guest does not control the stored bytes of an encrypted volume, so here the check is
     * safe. */
    if (raw && volume->encrypted && image_looks_qcow2(fd))
        return error_set(err, ERROR_BACKEND, "%s is recorded as raw but is qcow2.", name);
    if (raw && volume->encrypted && image_looks_luks(fd)) {
        if (qemu_img_info(arena, &directory->settings->qemu_img,
                          directory_path(directory, arena, name), "luks", &facts, err) < 0)
            return -1;
    } else if (image_read_facts(fd, format, &facts, err) < 0) {
        return error_context(err, "%s", name);
    }
    *ret = (struct volume_image){ .name = name, .format = format, .facts = facts, .chain = chain };
    return take_fd(fd);
}

int volume_image_lock(const struct directory *directory, struct arena *arena,
                      const struct driver_volume *volume, enum volume_lock how,
                      const struct driver_fence *fence, int *ret_lock, struct error *err) {
    const char *name = volume_name(arena, volume->name_id, err);
    struct chain chain;

    if (!name || chain_read(directory, arena, name, &chain, err) < 0)
        return -1;
    if (how == VOLUME_TO_GROW)
        return chain_lock_to_grow(directory, &chain, fence, ret_lock, err);
    if (how == VOLUME_TO_DELETE)
        return chain_lock_to_delete(directory, &chain, fence, ret_lock, err);
    return chain_lock(directory, &chain, how == VOLUME_ALONE, fence, ret_lock, err);
}

int volume_image_flush(int fd, const struct driver_volume *volume, struct volume_image *image,
                       struct error *err) {
    int result = volume->encrypted ? image_flush(fd, err)
                                   : image_read_flushed(fd, image->format, &image->facts, err);

    return result < 0 ? error_context(err, "volume %s", volume->id) : 0;
}

int volume_image_check_own(const struct directory *directory, struct arena *arena,
                           const struct driver_volume *volume, const struct volume_image *image,
                           struct error *err) {
    struct chain_link links[CHAIN_FILES_MOST];

    if (chain_is_layered(&image->chain))
        return chain_walk(directory, arena, &image->chain, image->name, volume->format, links,
                          err) < 0
                   ? -1
                   : 0;
    if (image->facts.external_data)
        return error_set(err, ERROR_BACKEND, "Volume %s keeps its data in another file.",
                         volume->id);
    if (image->facts.backing[0])
        return error_set(err, ERROR_BACKEND, "Volume %s has an unrecorded backing image.",
                         volume->id);
    return 0;
}
