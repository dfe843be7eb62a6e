/*
 * NodePublishVolume and NodeUnpublishVolume: mounts of a staged volume for one pod.
 */
#include "csi/node/volume.private.h"

#include "csi/node/mount.h"
#include "csi/node/mount_table.h"

#include <limits.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

/* The staged volume, its device and, once that is open, a descriptor of the mount's source. */
struct staged {
    struct kubelet_path path;
    struct loop loop;
    bool unmounted; /* a remount has failed or was interrupted */
    int source;
};

static void cleanup_staged(const struct staged *staged) {
    cleanup_kubelet_path(&staged->path);
    cleanup_loop(&staged->loop);
    cleanup_close(&staged->source);
}
#define autostaged __attribute__((cleanup(cleanup_staged)))

static int find_staged(const struct node *node, const struct node_publish *publish,
                       struct staged *ret, struct error *err) {
    struct kubelet_place place;
    bool stale;
    int found;

    if (node_open_staging(node, publish->staging_path, publish->capability->block, &ret->path,
                          err) < 0)
        return err->kind == ERROR_NOT_FOUND
                   ? error_set(err, ERROR_PRECONDITION, "The volume is not staged.")
                   : -1;
    if (kubelet_path_stat(&ret->path, &place, err) < 0)
        return -1;
    found = node_device_at(&place, publish->volume_id, &ret->loop, err);
    if (found == 0 && !place.is_mount) {
        found = loop_find_label(node_owns, publish->volume_id, &ret->loop, err);
        ret->unmounted = found > 0;
    }
    if (found < 0)
        return -1;
    stale = ret->loop.stale || (found == 0 && place.is_mount);
    /* A bound device may be gone: its number may be that of another volume's device. */
    if (found == 0) {
        ret->loop.number = node_is_stale(&place) ? minor(place.device) : UINT_MAX;
        ret->loop.label[0] = '\0';
    }
    if (!stale && (found == 0 || (ret->unmounted && !ret->loop.persistent)))
        return error_set(err, ERROR_PRECONDITION, "The volume is not staged.");
    /* A block volume is bound by its stage alone. */
    if (!stale && !(ret->unmounted && publish->capability->block))
        return 0;
    error_set(err, ERROR_PRECONDITION, "The storage of the volume's image has failed.");
    return NODE_STALE;
}

/* A file system that failed below the previous pod is remounted before the next one uses it. */
static int renew(const struct node *node, struct arena *arena, const struct node_publish *publish,
                 struct mount_flags *flags, const struct staged *staged, struct error *err) {
    const struct node_filesystem of = { .volume_id = publish->volume_id,
                                        .staging_path = publish->staging_path,
                                        .path = &staged->path,
                                        .loop = &staged->loop,
                                        .capability = publish->capability,
                                        .flags = flags };

    flags->read_only |= staged->loop.read_only;
    if (staged->unmounted)
        return node_mount(arena, &of, err) == 0 ? 0 : -1;
    return node_remount(node, arena, &of, err);
}

static int open_source(struct staged *staged, struct error *err) {
    staged->source = node_open_device(&staged->path, staged->loop.number, err);
    return staged->source < 0 ? -1 : 0;
}

static bool is_read_only(int mount) {
    struct statvfs status;

    return fstatvfs(mount, &status) == 0 && (status.f_flag & ST_RDONLY);
}

/* Does the mount at the target match the request? */
static int check_published(const struct node_publish *publish, const struct staged *staged,
                           const char *label, const struct kubelet_path *target,
                           struct error *err) {
    autoloop struct loop loop = LOOP_NONE;
    struct kubelet_place place;
    autoclose int mount = -1;
    bool differs;

    if (kubelet_path_stat(target, &place, err) < 0 ||
        node_device_at(&place, publish->volume_id, &loop, err) < 0)
        return -1;
    differs = loop.fd < 0 || loop.number != staged->loop.number ||
              S_ISBLK(place.mode) != publish->capability->block ||
              strcmp(label, staged->loop.label) != 0;
    if (!differs && !publish->capability->block) {
        mount = node_open_device(target, loop.number, err);
        if (mount < 0)
            return -1;
        differs = is_read_only(mount) != (publish->read_only || is_read_only(staged->source));
    }
    if (!differs)
        return 0;
    error_set(err, ERROR_CONFLICT, "The volume is published there with other arguments.");
    return NODE_DIFFERS;
}

static int check_others(const struct node *node, const struct node_publish *publish,
                        const struct staged *staged, struct error *err) {
    const struct mount_table_query others = { .root = node->root,
                                              .device = staged->loop.number,
                                              .except = publish->staging_path };
    int mode = publish->capability->mode, count;

    if (node_is_shared(mode) || mode == NODE_SINGLE_MULTI_WRITER)
        return 0;
    count = mount_table_count(&others, err);
    if (count > 0)
        return error_set(
            err, ERROR_PRECONDITION,
            "The volume is published at another path, and its access mode allows one.");
    return count;
}

static int check_new(const struct node *node, const struct node_publish *publish,
                     const struct staged *staged, const char *label, struct error *err) {
    if (strcmp(label, staged->loop.label) != 0)
        return error_set(err, ERROR_PRECONDITION, "The volume is staged with another capability.");
    if (publish->capability->block && publish->read_only && !staged->loop.read_only)
        return error_set(err, ERROR_PRECONDITION,
                         "A block volume that is staged writable cannot be published read-only.");
    return check_others(node, publish, staged, err);
}

/* May the volume be staged again for the publish?  The label is unknown where no driver has
 * recorded it. */
static int check_stale(const struct node *node, const struct node_publish *publish,
                       const struct staged *staged, const char *label,
                       const struct kubelet_place *target, struct error *err) {
    struct error refusal = *err;

    if (target->is_mount)
        return error_set(err, ERROR_PRECONDITION,
                         "The storage of the volume's image has failed below this pod, which has "
                         "to be created again.");
    if (*staged->loop.label && strcmp(label, staged->loop.label) != 0)
        return error_set(err, ERROR_PRECONDITION, "The volume is staged with another capability.");
    if (check_others(node, publish, staged, err) < 0)
        return -1;
    *err = refusal;
    return NODE_STALE;
}

static int publish_staged(const struct node *node, struct arena *arena,
                          const struct node_publish *publish, struct error *err) {
    autostaged struct staged staged = { PATH_NONE, LOOP_NONE, false, -1 };
    autopath struct kubelet_path target = PATH_NONE;
    char label[LOOP_LABEL_SIZE];
    struct kubelet_place place;
    struct mount_flags flags;
    int result;

    if (node_check_capability(publish->volume_id, publish->capability, &flags, label, err) < 0 ||
        kubelet_path_open(node->root, publish->path, &target, err) < 0 ||
        kubelet_path_stat(&target, &place, err) < 0)
        return -1;
    result = find_staged(node, publish, &staged, err);
    if (result != 0)
        return result < 0 ? -1 : check_stale(node, publish, &staged, label, &place, err);
    if (place.is_mount)
        return open_source(&staged, err) < 0
                   ? -1
                   : check_published(publish, &staged, label, &target, err);
    if (check_new(node, publish, &staged, label, err) < 0 ||
        (!publish->capability->block && renew(node, arena, publish, &flags, &staged, err) < 0) ||
        open_source(&staged, err) < 0 ||
        kubelet_path_make(&target, !publish->capability->block, err) < 0)
        return -1;
    return mount_bind(staged.source, publish->read_only && !publish->capability->block, &target,
                      err);
}

/* The lock is held all the time: after an unstage the volume is not staged again. */
int node_publish(const struct node *node, struct arena *arena, const struct node_publish *publish,
                 struct error *err) {
    autolock struct volume_lock lock = { 0 };
    int result;

    if (node_check_id(publish->volume_id, err) < 0 ||
        node_lock_volume(&lock, publish->volume_id, err) < 0)
        return -1;
    result = publish_staged(node, arena, publish, err);
    if (result != NODE_STALE || !publish->again)
        return result;
    result = node_stage_locked(node, arena, publish->again, err);
    return result == 0 ? publish_staged(node, arena, publish, err) : result;
}

int node_unpublish(const struct node *node, const char *volume_id, const char *path,
                   struct error *err) {
    autopath struct kubelet_path target = PATH_NONE;
    autolock struct volume_lock lock = { 0 };

    if (node_check_id(volume_id, err) < 0 || node_lock_volume(&lock, volume_id, err) < 0)
        return -1;
    if (kubelet_path_open(node->root, path, &target, err) < 0)
        return err->kind == ERROR_NOT_FOUND ? 0 : -1;
    if (node_unmount(&target, volume_id, err) < 0)
        return -1;
    return kubelet_path_remove(&target, err);
}
