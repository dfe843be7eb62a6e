/*
 * The image file of a guest that is off: nobody holds its lock, so qemu-img grows and measures it
 * (A5).  The format is always stated, never probed: a guest can write any header into a raw image.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"

#include <stdint.h>

/* Virtual size in bytes; works beside a running guest too. */
int image_capacity(struct arena *arena, const char *path, const char *format, int64_t *ret,
                   struct error *err);

/* Never shrinks. ERROR_CONFLICT: a guest holds the image's lock. */
int image_grow(struct arena *arena, const char *path, const char *format, int64_t bytes,
               struct error *err);
