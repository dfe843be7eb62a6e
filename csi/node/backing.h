/*
 * The image of a loop device, opened again: so that its size on the server becomes known on this
 * node.
 *
 * The kernel reports the path that was valid in the mount namespace of the process that attached
 * the device.  If that was a container which is gone, the path starts at one of its mounts: the
 * image is searched below the directories of images, and identified by device and inode.  The file
 * of a target is a mount of its own and has no path at all.
 */
#pragma once

#include "common/loop.h"
#include "csi/node/image.h"

/* A descriptor for reading, or -1. */
int node_backing_open(const struct node_places *places, const struct loop *loop, struct error *err);
/* The same for a volume that the storage agent of this node serves; -1: it is not one. */
int node_backing_open_target(const struct node_places *places, const struct loop *loop);
