/*
 * A filter that limits the average rate of what is read, written and sent since it was opened.
 * Extents, zeros, discards and flushes move no bytes and are not limited.
 */
#pragma once

#include "data/volume_io.h"

/* Owns `next`.  `bytes_per_second` > 0.  `wait` is queried four times a second during pauses. */
struct volume_io *throttle_io_open(struct volume_io *next, int64_t bytes_per_second,
                                   const struct volume_io_wait *wait);
