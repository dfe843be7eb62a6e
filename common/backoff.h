/*
 * Growing pauses between attempts: the first one doubles with each failure in a row, up to a limit.
 * Where many callers of one server may have failed at once, a part of each pause is left out at
 * random, so that they do not come back at once.
 *
 * Plain values of their owner, which guards them.  The instants of a `struct backoff` are of one
 * clock that does not step (common/clock.h: steady, or CLOCK_MONOTONIC).
 */
#pragma once

#include "common/clock.h"

#include <stdbool.h>

#define BACKOFF_JITTER 25 /* percent, where many callers meet one server */

struct backoff_limits {
    int64_t first_us, most_us;
    int64_t step_us; /* a pause grows by this, and not by a part of itself; 0: it does not */
    unsigned growth_percent;   /* by which a pause grows; 0: 100, it doubles */
    unsigned jitter_percent;   /* at most so much of a pause is left out */
    const struct clock *clock; /* gives the jitter; NULL: clock_system */
};

struct backoff {       /* all zero: nothing has failed */
    unsigned failures; /* in a row */
    int64_t due_us;    /* no attempt before that */
};

/* The pause behind so many failures in a row; behind none: 0. */
int64_t backoff_pause_us(const struct backoff_limits *limits, unsigned failures);

/* One more failure.  The pause until the next attempt. */
int64_t backoff_fail(struct backoff *backoff, const struct backoff_limits *limits, int64_t now_us);
void backoff_reset(struct backoff *backoff);
bool backoff_waits(const struct backoff *backoff, int64_t now_us);
