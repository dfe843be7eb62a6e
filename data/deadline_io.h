/*
 * A filter that limits the time of each call, although those of the next one may never return, as
 * into a share that hangs: each runs in a thread of its own (common/detached_call.h).
 *
 * A call that does not return in time fails with ERROR_UNAVAILABLE, and all later ones fail at
 * once: the object can only be closed.  The next one then belongs to the late call, and is closed
 * when that returns.
 */
#pragma once

#include "data/volume_io.h"

/* Owns `next`, which must not use anything that its caller frees.  `wait` is queried about once a
 * second while a call runs; NULL: not at all. */
struct volume_io *deadline_io_open(struct volume_io *next, int64_t timeout_ms,
                                   const struct volume_io_wait *wait);
