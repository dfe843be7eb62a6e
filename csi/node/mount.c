#include "csi/node/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

/* The kernel's message about a failed mount, after "e " or "w ". */
static int explain(int context, const char *what, struct error *err) {
    int code = errno;
    char text[256];
    ssize_t size = read(context, text, sizeof(text) - 1);

    if (size > 2)
        return error_set(err, ERROR_BACKEND, "%s: %.*s", what, (int)size - 2, text + 2);
    errno = code;
    return error_errno(err, ERROR_BACKEND, "%s", what);
}

static int set_options(int context, const char *device, const char *type,
                       const struct mount_flags *flags) {
    int result = fsconfig(context, FSCONFIG_SET_STRING, "source", device, 0);

    /* The superblock of ext4 may request a panic of the kernel after an error: overridden before
     * all requested options.  A clone of a volume has its UUID, too. */
    if (result == 0)
        result = strcmp(type, "xfs") == 0
                     ? fsconfig(context, FSCONFIG_SET_FLAG, "nouuid", NULL, 0)
                     : fsconfig(context, FSCONFIG_SET_STRING, "errors", "remount-ro", 0);
    if (result < 0)
        return -1;
    if (flags->read_only && fsconfig(context, FSCONFIG_SET_FLAG, "ro", NULL, 0) < 0)
        return -1;
    for (const char *const *option = flags->options; *option; option++) {
        const char *value = strchr(*option, '=');
        char name[64];

        snprintf(name, sizeof(name), "%.*s", (int)strcspn(*option, "="), *option);
        if (fsconfig(context, value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG, name,
                     value ? value + 1 : NULL, 0) < 0)
            return -1;
    }
    return fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0);
}

int mount_put(int tree, const struct kubelet_path *target, struct error *err) {
    if (move_mount(tree, "", target->parent, target->name, MOVE_MOUNT_F_EMPTY_PATH) < 0)
        return error_errno(err, ERROR_BACKEND, "mounting at %s", target->name);
    return 0;
}

int mount_device(const char *device, const char *type, const struct mount_flags *flags,
                 int *ret_tree, struct error *err) {
    autoclose int context = fsopen(type, FSOPEN_CLOEXEC);
    int tree;

    if (context < 0)
        return error_errno(err, ERROR_BACKEND, "this kernel does not support %s", type);
    if (set_options(context, device, type, flags) < 0) {
        bool unclean = flags->read_only && errno == EROFS;

        explain(context, device, err);
        return unclean ? MOUNT_UNCLEAN : -1;
    }
    tree = fsmount(context, FSMOUNT_CLOEXEC, (unsigned)flags->attributes);
    if (tree < 0)
        return explain(context, device, err);
    *ret_tree = tree;
    return 0;
}

int mount_once(const char *device, const char *type, struct error *err) {
    static const struct mount_flags plain;
    autoclose int context = fsopen(type, FSOPEN_CLOEXEC);
    autoclose int tree = -1;

    if (context < 0)
        return error_errno(err, ERROR_BACKEND, "this kernel does not support %s", type);
    if (set_options(context, device, type, &plain) < 0)
        return explain(context, device, err);
    tree = fsmount(context, FSMOUNT_CLOEXEC, 0);
    return tree < 0 ? explain(context, device, err) : 0;
}

int mount_bind(int source, bool read_only, const struct kubelet_path *target, struct error *err) {
    struct mount_attr attributes = { .attr_set = MOUNT_ATTR_RDONLY };
    autoclose int tree = open_tree(source, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

    if (tree < 0)
        return error_errno(err, ERROR_BACKEND, "taking the mount for %s", target->name);
    if (read_only && mount_setattr(tree, "", AT_EMPTY_PATH, &attributes, sizeof(attributes)) < 0)
        return error_errno(err, ERROR_BACKEND, "making %s read-only", target->name);
    return mount_put(tree, target, err);
}

/* A descriptor of the mount itself would keep it busy: only its parent is open. */
int mount_remove(const struct kubelet_path *path, struct error *err) {
    char place[sizeof("/proc/self/fd/2147483647/") + NAME_MAX];

    snprintf(place, sizeof(place), "/proc/self/fd/%d/%s", path->parent, path->name);
    if (umount2(place, UMOUNT_NOFOLLOW) < 0)
        return error_errno(err,
                           errno == EBUSY                       ? ERROR_PRECONDITION
                           : errno == EINVAL || errno == ENOENT ? ERROR_NOT_FOUND
                                                                : ERROR_BACKEND,
                           "unmounting %s", path->name);
    return 0;
}
