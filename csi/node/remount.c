/*
 * The mount of a staged volume's file system, and its remount when the kernel has stopped writing
 * to it because of errors.
 */
#include "csi/node/volume.private.h"

#include "common/log.h"
#include "csi/node/filesystem.h"
#include "csi/node/mount.h"
#include "csi/node/mount_table.h"

enum health {
    HEALTHY,
    FLAWED,  /* it has recorded errors, and continues */
    STOPPED, /* it refuses writes, or does not respond at all */
};

/* If the capability has no type, the present one decides, also on its flags. */
static int choose_type(const char *device, const struct node_filesystem *of, const char **ret_type,
                       struct mount_flags *ret_flags, struct error *err) {
    const struct node_capability *capability = of->capability;

    *ret_flags = *of->flags;
    *ret_type =
        *capability->type ? filesystem_known(capability->type) : filesystem_choose(device, err);
    if (!*ret_type || *capability->type)
        return *ret_type ? 0 : -1;
    if (mount_flags_parse(*ret_type, capability->flags, capability->flag_count, ret_flags, err) < 0)
        return -1;
    ret_flags->read_only |= of->flags->read_only;
    return 0;
}

int node_mount(struct arena *arena, const struct node_filesystem *of, struct error *err) {
    struct mount_flags flags;
    char device[LOOP_PATH_SIZE];
    autoclose int tree = -1;
    struct error ignored;
    const char *type;
    int result;

    loop_path(of->loop->number, device);
    if (choose_type(device, of, &type, &flags, err) < 0 ||
        filesystem_prepare(arena, device, type, of->loop->read_only, err) < 0)
        return -1;
    result = mount_device(device, type, &flags, &tree, err);
    if (result != 0)
        return result;
    if ((of->replaces && node_unmount(of->path, of->volume_id, err) < 0) ||
        mount_put(tree, of->path, err) < 0)
        return -1;
    if (of->loop->persistent) /* kept by node_remount(); unstage releases it, too */
        loop_set_persistent(of->loop, false, &ignored);
    return 0;
}

/* -1: unknown. */
static int find_health(const struct node_filesystem *of, struct error *err) {
    autoclose int mount = node_open_device(of->path, of->loop->number, err);
    struct mount_table_entry entry;
    struct kubelet_place place;

    if (mount < 0 || kubelet_path_stat(of->path, &place, err) < 0)
        return -1;
    if (place.stale)
        return STOPPED;
    if (mount_table_find(mount, &entry, err) < 0)
        return -1;
    if (entry.stopped || (entry.read_only && !of->flags->read_only))
        return STOPPED;
    return filesystem_has_errors(of->loop->number) ? FLAWED : HEALTHY;
}

static int stopped(struct error *err) {
    return error_set(
        err, ERROR_PRECONDITION,
        "The volume's file system has stopped because of errors and is in use: it is checked and remounted when the pods that use it have ended.");
}

/* The device outlives a failure and a kill between unmount and mount: it has the lock of the image,
 * and with it the next publish knows that the volume is staged. */
int node_remount(const struct node *node, struct arena *arena, const struct node_filesystem *of,
                 struct error *err) {
    const struct mount_table_query others = { .root = node->root,
                                              .device = of->loop->number,
                                              .except = of->staging_path };
    struct node_filesystem again = *of;
    struct loop kept = *of->loop;
    int health = find_health(of, err), count;

    if (health <= HEALTHY)
        return health;
    count = mount_table_count(&others, err);
    if (count < 0)
        return -1;
    if (count > 0)
        return health == STOPPED ? stopped(err) : 0;
    log_warning(NULL, "file system with errors is remounted", "volume_id", of->volume_id, NULL);
    kept.persistent = true;
    again.loop = &kept;
    if (loop_set_persistent(&kept, true, err) < 0 ||
        node_unmount(of->path, of->volume_id, err) < 0 || node_mount(arena, &again, err) != 0)
        return -1;
    health = find_health(of, err); /* if it is mounted elsewhere as well, the state remains */
    return health == STOPPED ? stopped(err) : health < 0 ? -1 : 0;
}
