/*
 * A thread that calls a function periodically.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ticker;

/* Calls tick() at once, and again after the pause in milliseconds that it returned. */
struct ticker *ticker_start(const char *name, int64_t (*tick)(void *arg), void *arg);
/* Calls tick() now, or again after the current call. */
void ticker_wake(struct ticker *ticker);
/* Waits for the end of the first call, until until_us (monotonic) at most.  Has it ended? */
bool ticker_wait_first(struct ticker *ticker, int64_t until_us);
/* Waits for the current call. */
void ticker_stop(struct ticker *ticker);
