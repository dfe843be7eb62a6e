/*
 * NodeGetVolumeStats and NodeExpandVolume: capacity of a staged volume.
 */
#include "csi/node/volume.private.h"

#include "csi/node/backing.h"
#include "csi/node/filesystem.h"
#include "csi/node/mount_table.h"

#include <fcntl.h>
#include <sys/statvfs.h>

static struct node_space space_of(uint64_t available, uint64_t total, uint64_t free,
                                  uint64_t unit) {
    return (struct node_space){ .available = (int64_t)(available * unit),
                                .total = (int64_t)(total * unit),
                                .used = (int64_t)((total - free) * unit) };
}

/* A file that was removed, replaced or is unreachable is a fault.  A query to an unresponsive
 * server does not return: when all slots have such queries, the image is not checked. */
static const char *fault_of_image(const struct node *node, const struct loop *loop) {
    static const char *const slots[NODE_SLOTS] = { "probe 1", "probe 2", "probe 3", "probe 4" };
    autolock struct volume_lock slot = { 0 };
    autoclose int image = -1;
    struct error ignored;

    if (!node_take_slot(&slot, slots))
        return NULL;
    image = node_backing_open(&node->places, loop, &ignored);
    return image < 0 ? "The volume's image was replaced, or is unreachable." : NULL;
}

static void measure_mounted(int mount, const struct kubelet_place *place, const struct loop *loop,
                            struct node_usage *ret) {
    struct mount_table_entry entry;
    struct statvfs status;
    struct error ignored;

    if (place->stale || fstatvfs(mount, &status) < 0) {
        ret->fault = "The file system does not respond.";
        return;
    }
    ret->bytes = space_of(status.f_bavail, status.f_blocks, status.f_bfree, status.f_frsize);
    ret->inodes = space_of(status.f_favail, status.f_files, status.f_ffree, 1);
    if (filesystem_has_errors(loop->number))
        ret->fault = "The file system has recorded errors.";
    else if (mount_table_find(mount, &entry, &ignored) == 0 && entry.stopped)
        ret->fault = "The file system refuses writes.";
}

#define DEAD_FILE "The volume's file is stale: the volume has to be staged again."

int node_usage(const struct node *node, const char *volume_id, const char *path,
               struct node_usage *ret, struct error *err) {
    autopath struct kubelet_path at = PATH_NONE;
    autoloop struct loop loop = LOOP_NONE;
    autoclose int mount = -1;
    struct kubelet_place place = { 0 };

    if (node_find(node, volume_id, path, &at, &place, &loop, err) < 0) {
        /* Nothing can be measured of a device that is stale, or whose server does not respond. */
        bool stale = node_is_stale(&place);

        if (!stale && (err->kind != ERROR_UNAVAILABLE || !node_owned(&place, volume_id)))
            return -1;
        *ret = (struct node_usage){
            .block = S_ISBLK(place.mode),
            .fault = stale ? DEAD_FILE : "The storage of the volume's image does not respond.",
        };
        return 0;
    }
    *ret = (struct node_usage){ .block = S_ISBLK(place.mode),
                                .fault = loop.stale ? DEAD_FILE : fault_of_image(node, &loop) };
    if (ret->block)
        return loop_size(&loop, &ret->bytes.total, err);
    mount = node_open_device(&at, loop.number, err);
    if (mount < 0)
        return -1;
    measure_mounted(mount, &place, &loop, ret);
    return 0;
}

/* ---- growth ---- */

static int grow_device(const struct node *node, const struct loop *loop, int64_t least_bytes,
                       int64_t *ret_bytes, struct error *err) {
    struct error why;
    autoclose int image = node_backing_open(&node->places, loop, &why);
    bool queried = image >= 0;
    struct statx facts;

    /* Not needed for a local file, or if the kernel revalidates by itself. */
    if (queried && statx(image, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_SIZE, &facts) < 0)
        queried = error_errno(&why, ERROR_UNAVAILABLE, "querying the volume's image") == 0;
    if (loop_grow(loop, err) < 0 || loop_size(loop, ret_bytes, err) < 0)
        return -1;
    return !queried && *ret_bytes < least_bytes
               ? error_set(err, ERROR_UNAVAILABLE, "The size of the volume's image is unknown: %s",
                           why.message)
               : 0;
}

static int grow_mounted(struct arena *arena, const struct kubelet_path *at, const char *path,
                        const struct loop *loop, struct error *err) {
    autoclose int mount = node_open_device(at, loop->number, err);
    const char *type = mount < 0 ? NULL : filesystem_mounted(mount);
    char device[LOOP_PATH_SIZE];

    if (mount < 0)
        return -1;
    if (!type)
        return error_set(err, ERROR_PRECONDITION, "The file system type does not support growth.");
    loop_path(loop->number, device);
    return loop->read_only ? 0 : filesystem_grow(arena, device, type, path, err);
}

int node_grow(const struct node *node, struct arena *arena, const struct node_growth *growth,
              int64_t *ret_bytes, struct error *err) {
    autopath struct kubelet_path at = PATH_NONE;
    autoloop struct loop loop = LOOP_NONE;
    autolock struct volume_lock lock = { 0 };
    struct kubelet_place place;
    int64_t bytes;

    if (node_check_id(growth->volume_id, err) < 0 ||
        node_lock_volume(&lock, growth->volume_id, err) < 0 ||
        node_find(node, growth->volume_id, growth->path, &at, &place, &loop, err) < 0 ||
        grow_device(node, &loop, growth->required_bytes, &bytes, err) < 0)
        return -1;
    if (bytes < growth->required_bytes ||
        (growth->limit_bytes != 0 && bytes > growth->limit_bytes)) {
        error_set(err, ERROR_BAD_REQUEST, "The volume has %jd bytes.", (intmax_t)bytes);
        return NODE_RANGE;
    }
    if (!S_ISBLK(place.mode) && grow_mounted(arena, &at, growth->path, &loop, err) < 0)
        return -1;
    *ret_bytes = bytes;
    return 0;
}
