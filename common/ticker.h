/*
 * A thread that does one thing again and again.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ticker;

/* Ticks at once, and then as many ms after the end of each tick as it has returned. */
struct ticker *ticker_start(const char *name, int64_t (*tick)(void *arg), void *arg);
/* Ticks now, or once more when it is at it. */
void ticker_wake(struct ticker *ticker);
/* Waits for the end of the first tick, no longer than until_us (monotonic). Has it ended? */
bool ticker_wait_first(struct ticker *ticker, int64_t until_us);
/* Waits for the tick that runs. */
void ticker_stop(struct ticker *ticker);
