/*
 * The content of one open file made that of another: shared by the file system in one step, or
 * copied with its holes kept.
 */
#pragma once

#include "drivers/driver_call.h"

#include <stdbool.h>

/* Who is asked while a copy goes on, and how fast it may. */
struct image_copy {
    const struct driver_fence *fence;
    const struct driver_progress *progress;
    int64_t bytes_per_second; /* 0: no limit */
};

/*
 * `to` shares all blocks of `from` until one of them is written to, and has its length: the content
 * of one moment, also while others write.  1: this file system cannot, or not these two files, and
 * what `to` holds is undefined.  Not flushed.
 */
int image_share(int from, int to, struct error *err);

/*
 * Copies all of `from` into `to`, which must be nobody else's; whatever it held is gone.  `sparse`:
 * holes stay holes, else they take their room.  Flushed.  Nobody may write to `from` meanwhile.
 */
int image_copy(int from, int to, bool sparse, const struct image_copy *how, struct error *err);
