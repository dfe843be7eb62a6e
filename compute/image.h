/*
 * An image file without a guest.  Of one that is off nobody holds the lock, so qemu-img grows and
 * measures it (A5).  The format is always stated, never probed: a guest can write any header into a
 * raw image.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"

#include <stdint.h>

/* Virtual size in bytes; works beside a running guest too. */
int image_capacity(struct arena *arena, const char *path, const char *format, int64_t *ret,
                   struct error *err);

/* A qcow2 image: the same, and the name of the image below as its header has it, "" when it says
 * none. */
int image_layer(struct arena *arena, const char *path, int64_t *ret, const char **ret_below,
                struct error *err);

/* Never shrinks. ERROR_CONFLICT: a guest holds the image's lock. */
int image_grow(struct arena *arena, const char *path, const char *format, int64_t bytes,
               struct error *err);
