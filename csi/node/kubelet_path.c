#include "csi/node/kubelet_path.h"

#include "csi/node/mount_table.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static bool is_normal(const char *path) {
    if (*path != '/' || strlen(path) >= PATH_MAX)
        return false;
    while (*path) {
        size_t length = strcspn(++path, "/");

        if (length == 0 || length > NAME_MAX || (length == 1 && path[0] == '.') ||
            (length == 2 && path[0] == '.' && path[1] == '.'))
            return false;
        path += length;
    }
    return true;
}

/* The part of `path` below `root`; NULL: it is not below. */
static const char *below(const char *root, const char *path) {
    size_t length = strlen(root);

    while (length > 0 && root[length - 1] == '/')
        length--;
    if (strncmp(root, path, length) != 0 || path[length] != '/')
        return NULL;
    return path + length + 1;
}

static int open_beneath(int root, const char *path) {
    const struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                                  .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS };

    return (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
}

static bool means_missing(int code) {
    return code == ENOENT || code == ENOTDIR || code == ELOOP || code == EXDEV;
}

static int open_parent(int root, const char *rest, const char *name, struct error *err) {
    char parent[PATH_MAX] = ".";
    int fd;

    if (name > rest) {
        memcpy(parent, rest, (size_t)(name - rest));
        parent[name - rest] = '\0';
    }
    fd = open_beneath(root, parent);
    if (fd < 0)
        return error_errno(err, means_missing(errno) ? ERROR_NOT_FOUND : ERROR_BACKEND,
                           "the directory of %s", rest);
    return fd;
}

int kubelet_path_open(const char *root, const char *path, struct kubelet_path *ret,
                      struct error *err) {
    const char *rest = is_normal(path) ? below(root, path) : NULL, *name;
    autoclose int top = -1;

    if (!rest)
        return error_set(err, ERROR_BAD_REQUEST, "%.200s is not a plain path below %s.", path,
                         root);
    top = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (top < 0)
        return error_errno(err, ERROR_BACKEND, "opening %s", root);
    name = strrchr(rest, '/') ? strrchr(rest, '/') + 1 : rest;
    ret->parent = open_parent(top, rest, name, err);
    strcpy(ret->name, name);
    return ret->parent < 0 ? -1 : 0;
}

int kubelet_path_below(const struct kubelet_path *path, const char *name, struct kubelet_path *ret,
                       struct error *err) {
    ret->parent = open_beneath(path->parent, path->name);
    if (ret->parent < 0)
        return error_errno(err, means_missing(errno) ? ERROR_NOT_FOUND : ERROR_BACKEND,
                           "the directory %s", path->name);
    strcpy(ret->name, name);
    return 0;
}

/* A descriptor needs no response of the file system itself: 1: a mount of a stale one; 0: not
 * one. */
static int stat_stale(const struct kubelet_path *path, struct kubelet_place *ret,
                      struct error *err) {
    autoclose int fd =
        openat(path->parent, path->name, O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC);
    struct mount_table_entry above, mounted;

    if (fd < 0)
        return 0;
    if (mount_table_find(path->parent, &above, err) < 0 || mount_table_find(fd, &mounted, err) < 0)
        return -1;
    *ret = (struct kubelet_place){
        .exists = true, .is_mount = true, .stale = true, .mode = S_IFDIR, .device = mounted.device
    };
    return mounted.id != above.id;
}

static int stat_failed(const struct kubelet_path *path, struct kubelet_place *ret,
                       struct error *err) {
    int code = errno, found = 0;

    /* Queries of a file system that has shut down, or has lost its server, fail with these. */
    if (code == EIO || code == ESTALE || code == ENOTCONN || code == ESHUTDOWN || code == EHOSTDOWN)
        found = stat_stale(path, ret, err);
    if (found != 0)
        return found < 0 ? -1 : 0;
    errno = code;
    return error_errno(err, ERROR_BACKEND, "reading the state of %s", path->name);
}

int kubelet_path_stat(const struct kubelet_path *path, struct kubelet_place *ret,
                      struct error *err) {
    struct statx status;

    *ret = (struct kubelet_place){ 0 };
    if (statx(path->parent, path->name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC,
              STATX_TYPE, &status) < 0)
        return errno == ENOENT ? 0 : stat_failed(path, ret, err);
    *ret = (struct kubelet_place){
        .exists = true,
        .is_mount = (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0,
        .mode = status.stx_mode,
        .device = S_ISBLK(status.stx_mode) ? makedev(status.stx_rdev_major, status.stx_rdev_minor)
                                           : makedev(status.stx_dev_major, status.stx_dev_minor),
    };
    return 0;
}

int kubelet_path_descriptor(const struct kubelet_path *path, struct error *err) {
    int fd = openat(path->parent, path->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return error_errno(err, errno == ENOENT ? ERROR_NOT_FOUND : ERROR_BACKEND, "opening %s",
                           path->name);
    return fd;
}

int kubelet_path_make(const struct kubelet_path *path, bool directory, struct error *err) {
    struct kubelet_place place;
    int made;

    if (directory) {
        made = mkdirat(path->parent, path->name, 0750);
    } else {
        made = openat(path->parent, path->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (made >= 0)
            close(made);
    }
    if (made < 0 && errno != EEXIST)
        return error_errno(err, ERROR_BACKEND, "making %s", path->name);
    if (kubelet_path_stat(path, &place, err) < 0)
        return -1;
    if (directory ? !S_ISDIR(place.mode) : !S_ISREG(place.mode))
        return error_set(err, ERROR_PRECONDITION, "%s exists and is not a %s.", path->name,
                         directory ? "directory" : "file");
    return 0;
}

int kubelet_path_remove(const struct kubelet_path *path, struct error *err) {
    struct stat status;

    if (unlinkat(path->parent, path->name, AT_REMOVEDIR) == 0 || errno == ENOENT)
        return 0;
    if (errno != ENOTDIR)
        return error_errno(err, errno == ENOTEMPTY ? ERROR_PRECONDITION : ERROR_BACKEND,
                           "removing %s", path->name);
    /* A file with data is not a leftover of the driver. */
    if (fstatat(path->parent, path->name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT
                   ? 0
                   : error_errno(err, ERROR_BACKEND, "reading the state of %s", path->name);
    if (!S_ISREG(status.st_mode) || status.st_size > 0)
        return error_set(err, ERROR_PRECONDITION, "%s is not an empty file.", path->name);
    if (unlinkat(path->parent, path->name, 0) < 0 && errno != ENOENT)
        return error_errno(err, ERROR_BACKEND, "removing %s", path->name);
    return 0;
}
