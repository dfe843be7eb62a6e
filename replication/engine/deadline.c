#include "replication/engine/deadline.h"

#include "common/clock.h"

#include <poll.h>

/* A wait that takes longer by that was interrupted by a suspension. */
#define SUSPENDED_US SECOND_US

#define SHORT_MS    1
#define SHORT_COUNT 50
#define LONG_MS     5

int64_t deadline_after_us(int64_t timeout_ms) {
    return clock_boottime_us() + timeout_ms * 1000;
}

bool deadline_end_wait(int64_t begun_us, int64_t most_us, int64_t *until_us) {
    int64_t over_us = clock_boottime_us() - begun_us - most_us;

    if (over_us <= SUSPENDED_US)
        return false;
    *until_us += over_us;
    return true;
}

int deadline_poll(int fd, short events, int64_t wait_ms, int64_t *until_us) {
    struct pollfd polled = { .fd = fd, .events = events };
    int64_t begun_us = clock_boottime_us();

    if (poll(&polled, 1, (int)wait_ms) > 0)
        return 1;
    (void)deadline_end_wait(begun_us, wait_ms * 1000, until_us);
    return 0;
}

bool deadline_pause(int64_t pause_ms, int64_t *until_us) {
    if (clock_boottime_us() >= *until_us)
        return false;
    (void)deadline_poll(-1, 0, pause_ms, until_us);
    return true;
}

bool deadline_pause_again(unsigned *count, int64_t *until_us) {
    return deadline_pause((*count)++ < SHORT_COUNT ? SHORT_MS : LONG_MS, until_us);
}
