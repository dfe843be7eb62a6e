/*
 * Mounts of the node, by descriptors: the paths were resolved before (kubelet_path.h), and a mount
 * is complete, and read-only if requested, before it becomes visible.
 */
#pragma once

#include "csi/node/kubelet_path.h"
#include "csi/node/mount_flags.h"

/* Mounts the file system of a block device, invisible: *ret_tree, closed by the caller, is its
 * only user until mount_put().  MOUNT_UNCLEAN: its journal must be replayed, and the
 * device is not writable. -1: the kernel's error. */
#define MOUNT_UNCLEAN 16
int mount_device(const char *device, const char *type, const struct mount_flags *flags,
                 int *ret_tree, struct error *err);
int mount_put(int tree, const struct kubelet_path *target, struct error *err);
/* The same, writable; it is unmounted as soon as it is complete. */
int mount_once(const char *device, const char *type, struct error *err);
/* Mounts `source`, a directory or a device, at `target` as well. */
int mount_bind(int source, bool read_only, const struct kubelet_path *target, struct error *err);
/* Removes the topmost mount. -1 with ERROR_PRECONDITION: it is in use; ERROR_NOT_FOUND: there is no
 * mount. */
int mount_remove(const struct kubelet_path *path, struct error *err);
