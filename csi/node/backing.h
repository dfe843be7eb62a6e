/*
 * The image behind a device, opened again: so its size on the server is known here, too.
 *
 * The kernel names it as the process saw it that has made the device.  When that was in a container
 * which has gone, with its mounts, the name begins where one of these was: the image is looked for
 * below the places that images come from, and is known by device and inode.  The file of a target
 * is a mount by itself, and then has no name at all.
 */
#pragma once

#include "csi/node/image.h"
#include "csi/node/loop.h"

/* A descriptor for reading, or -1. */
int node_backing_open(const struct node_places *places, const struct loop *loop, struct error *err);
/* The same of a volume that the storage agent of this node serves; -1: it is none. */
int node_backing_open_target(const struct node_places *places, const struct loop *loop);
