/*
 * Waits for another process of this machine until an instant of CLOCK_BOOTTIME.  Time for which
 * this process is suspended in such a wait does not count: if the machine or the container was, so
 * was the other one.  Between two waits it counts, as it cannot be distinguished there from a query
 * that the other process does not answer.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

int64_t deadline_after_us(int64_t timeout_ms);

/* After one wait, begun at begun_us, that ends by itself within most_us: true if this process was
 * suspended in it, and *until_us is postponed. */
bool deadline_end_wait(int64_t begun_us, int64_t most_us, int64_t *until_us);

/* poll() of one descriptor, -1 for none: 1 it is ready, 0 it is not.  *until_us is postponed if
 * this process was suspended meanwhile. */
int deadline_poll(int fd, short events, int64_t wait_ms, int64_t *until_us);

/* A pause; false, without one: the deadline has passed. */
bool deadline_pause(int64_t pause_ms, int64_t *until_us);
/* One of several pauses, of which *count is the number so far: short ones at first, as a process
 * mostly starts or ends within milliseconds. */
bool deadline_pause_again(unsigned *count, int64_t *until_us);
