/*
 * NodeStageVolume and NodeUnstageVolume: the device of the image, and its file system or the device
 * itself in the staging directory.
 */
#include "csi/node/volume.private.h"

#include "common/async_call.h"
#include "csi/node/filesystem.h"
#include "csi/node/mount.h"
#include "csi/node/mount_table.h"

#include <fcntl.h>
#include <linux/major.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <time.h>

/* The device of the image, attached or found.  It is detached with its descriptor until it is
 * mounted. */
static int attach(const struct node *node, struct arena *arena, const struct node_image *image,
                  const struct node_capability *capability, const char *label, struct loop *ret,
                  struct error *err) {
    bool read_only = image->read_only || node_reads_only(capability->mode);
    /* QEMU's FUSE exports (to this day) mix up the data of concurrent writes. */
    const struct loop_how how = { .read_only = read_only,
                                  .sector = image->block_size,
                                  .serialized = image->target != NULL,
                                  .no_discard = image->keeps_blocks };
    autoclose int directory = -1, file = -1;
    int found;
    enum image_hold hold;

    file = node_image_open(&node->places, arena, image, read_only, &directory, err);
    found = file < 0 ? -1 : loop_find(file, NODE_LABEL, ret, err);
    if (found < 0)
        return -1;
    if (found > 0 && ret->stale)
        return error_set(err, ERROR_UNAVAILABLE,
                         "The device of the volume's image returns only errors.");
    if (found > 0 && (strcmp(ret->label, label) != 0 || ret->read_only != read_only)) {
        error_set(err, ERROR_CONFLICT, "The volume is staged with another capability.");
        return NODE_DIFFERS;
    }
    if (found > 0)
        return 0;
    if (image->target) /* the server of a target provides exclusive access */
        return loop_attach(file, label, &how, ret, err);
    /* Other nodes and guests have locks, and so has the driver's own device, which takes over
     * these. */
    hold = node_lock_image(file, read_only, !node_is_shared(capability->mode), err);
    if (hold == IMAGE_HELD)
        return error_set(err, ERROR_PRECONDITION,
                         "The volume's image is in use by a guest or on another node.");
    if (hold != IMAGE_LOCKED)
        return -1;
    if (node_image_check(arena, image, file, directory, err) < 0)
        return -1;
    return loop_attach(file, label, &how, ret, err);
}

/* ---- a file system ---- */

/* A mount on a stale device is useless, but its file may come back, with writes: so pods have left
 * it, and it goes before the new device is written. */
static int drop_failed(const struct node *node, const struct node_filesystem *of,
                       const struct kubelet_place *place, struct error *err) {
    const struct mount_table_query others = { .root = node->root,
                                              .device = minor(place->device),
                                              .except = of->staging_path };
    int count = mount_table_count(&others, err);

    if (count > 0)
        return error_set(err, ERROR_PRECONDITION,
                         "The storage of the volume's image has failed below pods that use it.");
    return count < 0 ? -1 : node_unmount(of->path, of->volume_id, err);
}

/*
 * Replaces a mount on a stale device.  The new device is persistent before that changes: with it
 * the next publish knows that the volume is staged, after a failure or a kill.  The server of a
 * target's file has ended, so nothing is written by the stale device any more, and its mount stays
 * until the new one is complete.
 */
static int replace_stale(const struct node *node, struct arena *arena,
                         const struct node_filesystem *of, const struct kubelet_place *place,
                         struct error *err) {
    struct node_filesystem again = *of;
    struct loop kept = *of->loop;
    struct kubelet_place now;
    struct error ignored;
    int result;

    kept.persistent = true;
    again.loop = &kept;
    if (loop_set_persistent(&kept, true, err) < 0)
        return -1;
    result = of->replaces ? 0 : drop_failed(node, of, place, err);
    if (result == 0)
        result = node_mount(arena, &again, err);
    if (result != 0 && kubelet_path_stat(of->path, &now, &ignored) == 0 && now.is_mount)
        loop_set_persistent(&kept, false, &ignored);
    return result;
}

/* A volume that was staged without a type may have any. */
static int find_type(const struct node_filesystem *of, const char **ret, struct error *err) {
    const char *wanted = of->capability->type;
    autoclose int mount = node_open_device(of->path, of->loop->number, err);

    *ret = mount < 0 ? NULL : filesystem_mounted(mount);
    if (mount < 0)
        return -1;
    if (!*ret)
        return error_set(err, ERROR_BACKEND, "The mounted file system has another type.");
    if (!*wanted || strcmp(wanted, *ret) == 0)
        return 0;
    error_set(err, ERROR_CONFLICT, "The volume is staged, and contains %s.", *ret);
    return NODE_DIFFERS;
}

static int stage_mount(const struct node *node, struct arena *arena,
                       const struct node_filesystem *of, struct error *err) {
    autoloop struct loop there = LOOP_NONE;
    struct kubelet_place place;
    const char *type;
    bool stale;
    int found;
    char device[LOOP_PATH_SIZE];

    if (kubelet_path_stat(of->path, &place, err) < 0)
        return -1;
    stale = node_is_stale(&place);
    if (!stale && !S_ISDIR(place.mode))
        return error_set(err, ERROR_BAD_REQUEST, "There is no staging directory.");
    found = stale ? 0 : node_device_at(&place, of->volume_id, &there, err);
    if (found < 0)
        return -1;
    if (found > 0 && there.number != of->loop->number)
        return error_set(err, ERROR_PRECONDITION, "Another image of the volume is mounted there.");
    found = stale       ? replace_stale(node, arena, of, &place, err)
            : found > 0 ? node_remount(node, arena, of, err)
                        : node_mount(arena, of, err);
    if (found != 0)
        return found;
    found = find_type(of, &type, err);
    if (found != 0)
        return found;
    /* Only XFS grows after the mount; an interrupted stage is completed here. */
    if (of->loop->read_only || strcmp(type, "xfs") != 0)
        return 0;
    loop_path(of->loop->number, device);
    return filesystem_grow(arena, device, type, of->staging_path, err);
}

/* ---- a block volume ---- */

static int bind_device(const struct loop *loop, const struct kubelet_path *path,
                       struct error *err) {
    char device[LOOP_PATH_SIZE];
    autoclose int source = -1;

    loop_path(loop->number, device);
    source = open(device, O_PATH | O_CLOEXEC);
    if (source < 0)
        return error_errno(err, ERROR_BACKEND, "opening %s", device);
    return mount_bind(source, false, path, err);
}

/* The bound device may be gone, and its number reused. */
static int stage_block(const struct node_stage *stage, const struct loop *loop,
                       const struct kubelet_path *path, struct error *err) {
    struct kubelet_place place;
    struct error ignored;

    if (kubelet_path_stat(path, &place, err) < 0)
        return -1;
    /* A device that is only bound is not in use, and its number may be reused at once, also by this
     * one: so it is made persistent before it is bound, and unbound before it is detached.  So the
     * next publish knows that the volume is staged, too. */
    if (!loop->persistent && loop_set_persistent(loop, true, err) < 0)
        return -1;
    if (place.is_mount && place.device == makedev(LOOP_MAJOR, loop->number))
        return 0;
    if ((!place.is_mount || node_unmount(path, stage->volume_id, err) == 0) &&
        kubelet_path_make(path, false, err) == 0 && bind_device(loop, path, err) == 0)
        return 0;
    /* Nothing else shows that the volume is staged once the bound device is gone. */
    if (!loop->persistent &&
        (!place.is_mount || (kubelet_path_stat(path, &place, &ignored) == 0 && place.is_mount)))
        loop_set_persistent(loop, false, &ignored);
    return -1;
}

/* The kernel caches attributes of a file for a second: until then a device seems to work
 * although its server has ended. */
static int await_stale(const struct node *node, struct arena *arena, const struct node_image *image,
                       const struct kubelet_path *path, struct error *err) {
    autoloop struct loop loop = LOOP_NONE;
    autoclose int directory = -1, file = -1;
    struct kubelet_place place;
    int found;
    const struct timespec pause = { .tv_nsec = 50000000 };

    if (kubelet_path_stat(path, &place, err) < 0)
        return -1;
    if (!place.is_mount)
        return 0;
    file = node_image_open(&node->places, arena, image, true, &directory, err);
    found = file < 0 ? -1 : loop_find(file, NODE_LABEL, &loop, err);
    for (int i = 0; found == 0 && i < 40 && !node_is_stale(&place); i++)
        nanosleep(&pause, NULL);
    return found < 0 ? -1 : 0;
}

static int stage_once(const struct node *node, struct arena *arena, const struct node_stage *stage,
                      const struct node_image *image, const struct kubelet_path *path,
                      const struct mount_flags *flags, const char *label, unsigned *ret_number,
                      struct error *err) {
    const struct node_capability *capability = stage->capability;
    autoloop struct loop loop = LOOP_NONE;
    struct mount_flags all = *flags;
    const struct node_filesystem of = { .volume_id = stage->volume_id,
                                        .staging_path = stage->path,
                                        .path = path,
                                        .loop = &loop,
                                        .capability = capability,
                                        .flags = &all,
                                        .replaces = image->target != NULL };
    int result = attach(node, arena, image, capability, label, &loop, err);

    if (result != 0)
        return result;
    *ret_number = loop.number;
    all.read_only |= loop.read_only;
    return capability->block ? stage_block(stage, &loop, path, err)
                             : stage_mount(node, arena, &of, err);
}

static int stage_image(const struct node *node, struct arena *arena, const struct node_stage *stage,
                       const struct node_image *image, struct error *err) {
    const struct node_capability *capability = stage->capability;
    autopath struct kubelet_path path = PATH_NONE;
    char label[LOOP_LABEL_SIZE];
    struct mount_flags flags;
    unsigned number = 0;
    int result;

    if (node_check_capability(stage->volume_id, capability, &flags, label, err) < 0 ||
        node_open_staging(node, stage->path, capability->block, &path, err) < 0)
        return -1;
    if (image->target && await_stale(node, arena, image, &path, err) < 0)
        return -1;
    result = stage_once(node, arena, stage, image, &path, &flags, label, &number, err);
    if (result != MOUNT_UNCLEAN)
        return result;
    /* The lock of the first attempt ends with its device. */
    if (loop_release(number, label, err) != 0 ||
        node_replay(node, arena, stage->volume_id, image, label, err) < 0)
        return -1;
    result = stage_once(node, arena, stage, image, &path, &flags, label, &number, err);
    return result == MOUNT_UNCLEAN ? -1 : result;
}

int node_stage_locked(const struct node *node, struct arena *arena, const struct node_stage *stage,
                      struct error *err) {
    struct node_image image;
    int result;

    if ((stage->check && stage->check(stage->arg, stage, err) < 0) ||
        node_image_parse(arena, stage->context, stage->context_count, &image, err) < 0)
        return -1;
    result = stage_image(node, arena, stage, &image, err);
    /* The share may be unused: the device existed already, or the stage has failed. */
    node_image_release_share(&node->places, arena, &image);
    return result;
}

int node_stage(const struct node *node, struct arena *arena, const struct node_stage *stage,
               struct error *err) {
    autolock struct volume_lock lock = { 0 };

    return node_check_id(stage->volume_id, err) < 0 ||
                   node_lock_volume(&lock, stage->volume_id, err) < 0
               ? -1
               : node_stage_locked(node, arena, stage, err);
}

/* ---- unstage ---- */

/* A published device need not be open, and its number would be reused soon. */
static int check_hidden(const struct node *node, const char *staging_path, const struct loop *loop,
                        struct error *err) {
    const struct mount_table_query shown = { .root = node->root,
                                             .device = loop->number,
                                             .except = staging_path };
    int count = mount_table_count(&shown, err);

    return count <= 0
               ? count
               : error_set(err, ERROR_PRECONDITION, "The volume is still published on this node.");
}

/* The final writes to a device block while the server of its image is unresponsive. */
static int check_server(const struct loop *loop, struct error *err) {
    char path[PATH_MAX];

    if (loop->stale || loop_file_path(loop->number, path, sizeof(path), err) < 0)
        return 0;
    return async_probe(path, err);
}

static int unmount_staged(const struct kubelet_place *place, const char *volume_id,
                          const struct kubelet_path *path, struct error *err) {
    autoloop struct loop loop = LOOP_NONE;
    int found = node_device_at(place, volume_id, &loop, err);

    if (found < 0 || (found > 0 && check_server(&loop, err) < 0))
        return -1;
    return node_unmount(path, volume_id, err);
}

/* Releases every device of the volume, bound at `staging` (NULL: nowhere).  A device that is still
 * mounted or open is in use, and until it is gone no other node may have the volume. */
static int release(const struct node *node, struct arena *arena, const char *volume_id,
                   const char *staging_path, const struct kubelet_path *staging,
                   struct error *err) {
    for (bool any = false;; any = true) {
        struct loop loop;
        char path[PATH_MAX];
        int found = loop_find_label(node_owns, volume_id, &loop, err);

        if (found == 0 && !any)
            node_image_release_unused(&node->places, arena);
        if (found <= 0)
            return found;
        close(loop.fd);
        if (check_hidden(node, staging_path, &loop, err) < 0 || check_server(&loop, err) < 0 ||
            (staging && node_unmount(staging, volume_id, err) < 0))
            return -1;
        if (loop_file_path(loop.number, path, sizeof(path), err) < 0)
            *path = '\0'; /* it has just gone */
        found = loop_release(loop.number, loop.label, err);
        if (found > 0)
            return error_set(err, ERROR_PRECONDITION, "The volume is still in use on this node.");
        if (found < 0)
            return -1;
        loop_reset_discard(loop.number);
        node_image_release(&node->places, arena, path);
    }
}

/* The file of the device is removed last: it marks the existence of a device. */
static int unstage_block(const struct node *node, struct arena *arena, const char *volume_id,
                         const char *staging_path, const struct kubelet_path *directory,
                         struct error *err) {
    autopath struct kubelet_path path = PATH_NONE;

    if (kubelet_path_below(directory, NODE_DEVICE, &path, err) < 0 ||
        release(node, arena, volume_id, staging_path, &path, err) < 0 ||
        node_unmount(&path, volume_id, err) < 0)
        return -1;
    return kubelet_path_remove(&path, err);
}

int node_unstage(const struct node *node, struct arena *arena, const char *volume_id,
                 const char *path, struct error *err) {
    autopath struct kubelet_path directory = PATH_NONE;
    autolock struct volume_lock lock = { 0 };
    struct kubelet_place place = { 0 };

    if (node_check_id(volume_id, err) < 0 || node_lock_volume(&lock, volume_id, err) < 0)
        return -1;
    if (kubelet_path_open(node->root, path, &directory, err) < 0)
        return err->kind == ERROR_NOT_FOUND ? release(node, arena, volume_id, path, NULL, err) : -1;
    if (kubelet_path_stat(&directory, &place, err) < 0)
        return -1;
    if (!S_ISDIR(place.mode))
        return release(node, arena, volume_id, path, NULL, err);
    if (place.is_mount && unmount_staged(&place, volume_id, &directory, err) < 0)
        return -1;
    if (!place.is_mount)
        return unstage_block(node, arena, volume_id, path, &directory, err);
    if (release(node, arena, volume_id, path, NULL, err) < 0)
        return -1;
    loop_reset_discard(minor(place.device));
    return 0;
}
