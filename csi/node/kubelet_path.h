/*
 * Paths that the kubelet names: below its directory, and never by a link to anywhere else.
 *
 * What a path means is found once, from the open directory down; what follows works with the
 * descriptor of the parent and the last name, so nobody can put another directory in between.
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
 * `path` is absolute, has no empty part, "." or "..", and lies below `root`; its parent exists.
 * -1: ERROR_BAD_REQUEST, or ERROR_NOT_FOUND when a directory is missing or there is a link.
 */
int kubelet_path_open(const char *root, const char *path, struct kubelet_path *ret,
                      struct error *err);
/* The same below a directory that the path itself names. */
int kubelet_path_below(const struct kubelet_path *path, const char *name, struct kubelet_path *ret,
                       struct error *err);

struct kubelet_place {
    bool exists;
    bool is_mount; /* something is mounted on it */
    bool dead;     /* that file system has shut down, or has lost its server */
    mode_t mode;
    dev_t device; /* that it lies on, or that it is */
};

/* What is there now: what is mounted over it, if anything is; a link is a link.  A mount that is
 * dead is found in the kernel's table; no server is asked. */
int kubelet_path_look(const struct kubelet_path *path, struct kubelet_place *ret,
                      struct error *err);
/* A descriptor of that, O_PATH. */
int kubelet_path_descriptor(const struct kubelet_path *path, struct error *err);

/* Makes a directory, or an empty file, unless there is one; what else is there is refused. */
int kubelet_path_make(const struct kubelet_path *path, bool directory, struct error *err);
/* Removes an empty directory or an empty file; nothing there is fine. */
int kubelet_path_remove(const struct kubelet_path *path, struct error *err);
