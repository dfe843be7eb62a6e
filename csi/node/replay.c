/*
 * The replay of a journal, of a file system that was copied while in use and is to be mounted
 * read-only: the kernel mounts no such file system from a read-only device.  The journal is
 * replayed once, on a writable device and with exclusive access to the image; afterwards it is
 * clean for every reader.
 */
#include "csi/node/volume.private.h"

#include "common/log.h"
#include "csi/node/filesystem.h"
#include "csi/node/mount.h"

#include <string.h>

/* The image, writable and with exclusive access. */
static int open_alone(const struct node *node, struct arena *arena, const struct node_image *image,
                      struct error *err) {
    autoclose int directory = -1;
    autoclose int file = node_image_open(&node->places, arena, image, false, &directory, err);
    enum image_hold hold = file < 0 ? IMAGE_LOCK_FAILED : node_lock_image(file, false, true, err);

    if (hold == IMAGE_HELD)
        return error_set(err, ERROR_CONFLICT,
                         "The journal of the volume's file system must be replayed, and the image "
                         "is in use elsewhere.");
    if (hold != IMAGE_LOCKED || node_image_check(arena, image, file, directory, err) < 0)
        return -1;
    return take_fd(file);
}

static int replay(struct arena *arena, const struct loop *loop, struct error *err) {
    char device[LOOP_PATH_SIZE], type[FILESYSTEM_TYPE_SIZE];

    loop_path(loop->number, device);
    if (filesystem_probe(device, type, err) < 0)
        return -1;
    if (!*type || !filesystem_known(type))
        return error_set(err, ERROR_PRECONDITION, "The volume contains no file system.");
    return filesystem_prepare(arena, device, type, false, err) < 0 ? -1
                                                                   : mount_once(device, type, err);
}

int node_replay(const struct node *node, struct arena *arena, const char *volume_id,
                const struct node_image *image, const char *label, struct error *err) {
    const struct loop_how how = { .no_discard = image->keeps_blocks };
    autoclose int file = -1;
    struct loop loop;
    int result, gone;

    if (image->target)
        return error_set(
            err, ERROR_PRECONDITION,
            "The journal of the volume's file system must be replayed: publish it once writable.");
    file = open_alone(node, arena, image, err);
    if (file < 0 || loop_attach(file, label, &how, &loop, err) < 0)
        return -1;
    log_info(NULL, "replaying the journal of a volume", "volume_id", volume_id, NULL);
    result = replay(arena, &loop, err);
    close(loop.fd);
    if (result < 0)
        return -1;
    gone = loop_release(loop.number, label, err);
    if (gone == 0)
        loop_reset_discard(loop.number);
    return gone > 0 ? error_set(err, ERROR_CONFLICT, "The volume's device is in use.") : gone;
}
