/*
 * An image file without a running guest, whose lock is therefore free: qemu-img resizes and
 * measures it (A5).  The format is always given, never probed: a guest can write any header into a
 * raw image.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"

#include <stdint.h>

/* Virtual size in bytes; works beside a running guest too. */
int image_capacity(struct arena *arena, const char *path, const char *format, int64_t *ret,
                   struct error *err);

/* A qcow2 image: also the backing file's name in its header, "" for none. */
int image_layer(struct arena *arena, const char *path, int64_t *ret, const char **ret_below,
                struct error *err);

/* Never shrinks.  ERROR_CONFLICT: the image is locked by a guest. */
int image_grow(struct arena *arena, const char *path, const char *format, int64_t bytes,
               struct error *err);
