/*
 * Growing pauses between attempts: the pause doubles with each consecutive failure, up to a limit.
 * Where many callers of one server may fail at once, a random part of each pause is omitted, so
 * that their retries are spread.
 *
 * Plain values, guarded by their owner.  The instants of a `struct backoff` are of one clock that
 * does not step (common/clock.h: steady, or CLOCK_MONOTONIC).
 */
#pragma once

#include "common/clock.h"

#include <stdbool.h>

#define BACKOFF_JITTER 25 /* percent, for many callers of one server */

struct backoff_limits {
    int64_t first_us, most_us;
    int64_t step_us;           /* constant growth of a pause instead of growth_percent; 0: none */
    unsigned growth_percent;   /* growth of a pause; 0: 100, it doubles */
    unsigned jitter_percent;   /* largest part of a pause that is omitted at random */
    const struct clock *clock; /* source of the jitter; NULL: clock_system */
};

struct backoff {       /* all zero: no failure yet */
    unsigned failures; /* consecutive */
    int64_t due_us;    /* no attempt before that */
};

/* The pause after this number of consecutive failures; 0 after none. */
int64_t backoff_pause_us(const struct backoff_limits *limits, unsigned failures);

/* Counts a failure and returns the pause until the next attempt. */
int64_t backoff_fail(struct backoff *backoff, const struct backoff_limits *limits, int64_t now_us);
void backoff_reset(struct backoff *backoff);
bool backoff_waits(const struct backoff *backoff, int64_t now_us);
