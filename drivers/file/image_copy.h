/*
 * The content of one open file made that of another: blocks shared by the file system in one step,
 * or copied with holes kept.
 */
#pragma once

#include "drivers/driver_call.h"

#include <stdbool.h>

/* The fencing and progress of a copy, and its rate limit. */
struct image_copy {
    const struct driver_fence *fence;
    const struct driver_progress *progress;
    int64_t bytes_per_second; /* 0: no limit */
};

/*
 * `to` shares all blocks of `from` until one of them is written to, and has its length: the content
 * of one moment, also during writes.  1: this file system, or this pair of files, does not support
 * it, and the content of `to` is undefined.  Not flushed.
 */
int image_share(int from, int to, struct error *err);

/* Copies all of `from` into `to`, which is at least as large and reads as zeros.  Flushed. */
int image_copy_into(struct volume_io *from, struct volume_io *to, const struct image_copy *how,
                    struct error *err);

/*
 * Copies all of `from` into `to`, which must be private to the caller; its old content is gone.
 * `sparse`: holes stay holes, else they are allocated.  Flushed.  `from` must not be written
 * meanwhile.
 */
int image_copy(int from, int to, bool sparse, const struct image_copy *how, struct error *err);
