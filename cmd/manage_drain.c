/*
 * A pool of replicas is emptied.  The service does it by itself, so the command may be interrupted
 * and given again; with --stop what has not begun stays where it is.
 */
#include "cmd/manage.h"

#include "client/replica_pools.h"
#include "cmd/manage_talk.h"
#include "common/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

/* Until it is empty, is drained no more, or the time is over. */
static int wait_until_empty(struct manage_talk *talk, const char *pool) {
    int64_t until_us = talk->timeout_s ? clock_monotonic_us() + talk->timeout_s * SECOND_US : 0;
    int64_t before = -1, left;

    for (;;) {
        left = replica_pools_left(&talk->api, talk->arena, pool, &talk->err);
        if (left < 0 && talk->err.kind != ERROR_NONE)
            return -1;
        if (left < 0)
            return error_set(&talk->err, ERROR_CONFLICT, "pool %s is not drained any more", pool);
        if (left != before)
            printf("pool %s is drained: %" PRId64 " replica%s left\n", pool, left,
                   left == 1 ? "" : "s");
        fflush(stdout);
        if (left == 0)
            return 0;
        if (until_us != 0 && clock_monotonic_us() >= until_us)
            return error_set(&talk->err, ERROR_UNAVAILABLE,
                             "timeout: pool %s has replicas and is drained further", pool);
        before = left;
        nanosleep(&(struct timespec){ .tv_sec = 1 }, NULL);
    }
}

static int drain(struct manage_talk *talk) {
    const char *pool = talk->words[0];

    if (!pool || talk->words[1])
        return error_set(&talk->err, ERROR_BAD_REQUEST, "no pool given: its name");
    if (replica_pools_drain(&talk->api, talk->arena, pool, !talk->stops, &talk->err) < 0)
        return -1;
    if (!talk->stops)
        return wait_until_empty(talk, pool);
    printf("pool %s is not drained any more\n", pool);
    return 0;
}

int manage_drain(const struct config *config, const char *const *words, bool json) {
    return manage_talk(config, words, json, "drain", drain);
}
