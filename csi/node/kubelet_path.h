/*
 * Paths given by the kubelet: below its directory, without symbolic links.
 *
 * A path is resolved once, from the open directory down; later operations use the descriptor of the
 * parent and the last name, so that no directory can be exchanged in between.
 */
#pragma once

#include "common/cleanup.h"
#include "common/error.h"

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

struct kubelet_path {
    int parent;              /* of the last name; O_PATH */
    char name[NAME_MAX + 1]; /* no slash, not "." and not ".." */
};

static inline void cleanup_kubelet_path(const struct kubelet_path *path) {
    cleanup_close(&path->parent);
}
#define autopath __attribute__((cleanup(cleanup_kubelet_path)))
#define PATH_NONE \
    { .parent = -1 }

/*
 * `path` is absolute, has no empty part, "." or "..", and is below `root`; its parent exists. -1:
 * ERROR_BAD_REQUEST, or ERROR_NOT_FOUND when a directory is missing or is a symbolic link.
 */
int kubelet_path_open(const char *root, const char *path, struct kubelet_path *ret,
                      struct error *err);
/* The same below the directory of `path`. */
int kubelet_path_below(const struct kubelet_path *path, const char *name, struct kubelet_path *ret,
                       struct error *err);

struct kubelet_place {
    bool exists;
    bool is_mount; /* a mount point */
    bool stale;    /* its file system has shut down, or has lost its server */
    mode_t mode;
    dev_t device; /* the file system's device, or that of a device node */
};

/* The present state: of the topmost mount, if there is any; symbolic links are not followed.  A
 * stale mount is found in the kernel's table; no server is queried. */
int kubelet_path_stat(const struct kubelet_path *path, struct kubelet_place *ret,
                      struct error *err);
/* A descriptor of that, O_PATH. */
int kubelet_path_descriptor(const struct kubelet_path *path, struct error *err);

/* Creates a directory, or an empty file, unless it exists; other content is refused. */
int kubelet_path_make(const struct kubelet_path *path, bool directory, struct error *err);
/* Removes an empty directory or an empty file; a missing one is fine. */
int kubelet_path_remove(const struct kubelet_path *path, struct error *err);
