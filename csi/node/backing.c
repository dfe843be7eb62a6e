#include "csi/node/backing.h"

#include "common/async_call.h"
#include "csi/node/kubelet_path.h"
#include "csi/node/volume.private.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define VOLUME "volume" /* a target's file, in its directory */

/* The file with this path if it is the one of the device; otherwise -1. */
static int open_if(const struct loop *loop, int directory, const char *path) {
    autoloop struct loop found = LOOP_NONE;
    struct error ignored;
    autoclose int file = openat(directory, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (file < 0 || loop_find(file, NODE_LABEL, &found, &ignored) <= 0 ||
        found.number != loop->number)
        return -1;
    return take_fd(file);
}

static int open_below(const struct loop *loop, const char *root, const char *rest) {
    autopath struct kubelet_path at = PATH_NONE;
    char path[PATH_MAX];
    struct error ignored;

    snprintf(path, sizeof(path), "%.2000s/%.2000s", root, rest);
    if (async_probe(root, &ignored) < 0 || kubelet_path_open(root, path, &at, &ignored) < 0)
        return -1;
    return open_if(loop, at.parent, at.name);
}

/* Any suffix of the path below this directory. */
static int search_below(const struct loop *loop, const char *root, const char *path) {
    int file = -1;

    for (const char *rest = strchr(path, '/'); rest && file < 0; rest = strchr(rest, '/'))
        file = open_below(loop, root, ++rest);
    return file;
}

static int search_shares(const struct loop *loop, const char *directory, const char *path) {
    autodirectory DIR *shares = opendir(directory);
    const struct dirent *entry;
    char root[PATH_MAX];
    int file = -1;

    while (shares && file < 0 && (entry = readdir(shares))) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(root, sizeof(root), "%.2000s/%s", directory, entry->d_name);
        file = search_below(loop, root, path);
    }
    return file;
}

/* Compares attributes that the kernel has cached, because the file's server may be unresponsive. */
static int open_numbered(const struct loop *loop, const char *root, int directory, const char *name,
                         dev_t device, ino_t inode) {
    char path[NAME_MAX + sizeof("/" VOLUME)], whole[PATH_MAX];
    struct statx facts;
    struct error ignored;

    snprintf(path, sizeof(path), "%s/" VOLUME, name);
    if (statx(directory, path, AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC, STATX_INO, &facts) < 0 ||
        makedev(facts.stx_dev_major, facts.stx_dev_minor) != device || facts.stx_ino != inode)
        return -1;
    snprintf(whole, sizeof(whole), "%.2000s/%.1000s", root, path);
    return async_probe(whole, &ignored) < 0 ? -1 : open_if(loop, directory, path);
}

int node_backing_open_target(const struct node_places *places, const struct loop *loop) {
    autodirectory DIR *targets =
        places->target_directory ? opendir(places->target_directory) : NULL;
    const struct dirent *entry;
    dev_t device;
    ino_t inode;
    int file = -1;

    if (!targets || loop_file(loop, &device, &inode) < 0)
        return -1;
    while (file < 0 && (entry = readdir(targets))) {
        if (entry->d_name[0] != '.')
            file = open_numbered(loop, places->target_directory, dirfd(targets), entry->d_name,
                                 device, inode);
    }
    return file;
}

int node_backing_open(const struct node_places *places, const struct loop *loop,
                      struct error *err) {
    int file = node_backing_open_target(places, loop);
    char path[PATH_MAX];

    if (file >= 0)
        return file;
    if (loop_file_path(loop->number, path, sizeof(path), err) < 0 || async_probe(path, err) < 0)
        return -1;
    file = open_if(loop, AT_FDCWD, path);
    for (const char *const *root = places->local_directories; *root && file < 0; root++)
        file = search_below(loop, *root, path);
    if (file < 0 && places->share_directory)
        file = search_shares(loop, places->share_directory, path);
    return file < 0
               ? error_set(err, ERROR_BACKEND, "The volume's image cannot be found at its path.")
               : file;
}
