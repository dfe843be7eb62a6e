/*
 * Mounts of the node, by descriptors: what is mounted where was looked up before (kubelet_path.h),
 * and a mount is whole, read-only if it is to be so, before it is seen.
 */
#pragma once

#include "csi/node/kubelet_path.h"
#include "csi/node/mount_flags.h"

/* Mounts the file system of a block device.  MOUNT_UNCLEAN: its journal must be replayed, and the
 * device may not be written.  -1: what the kernel says of it. */
#define MOUNT_UNCLEAN 16
int mount_device(const char *device, const char *type, const struct mount_flags *flags,
                 const struct kubelet_path *target, struct error *err);
/* The same, writable and where nothing sees it, until it is whole; then it is unmounted again. */
int mount_once(const char *device, const char *type, struct error *err);
/* Shows `source`, a directory or a device, at `target`. */
int mount_bind(int source, bool read_only, const struct kubelet_path *target, struct error *err);
/* Takes away what is mounted last at the place.  -1 with ERROR_PRECONDITION: it is in use;
 * ERROR_NOT_FOUND: nothing is mounted there. */
int mount_remove(const struct kubelet_path *path, struct error *err);
