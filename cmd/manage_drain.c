/*
 * A pool of replicas is emptied.  The service does it by itself, so the command may be interrupted
 * and given again; with --stop what has not begun stays where it is.
 */
#include "cmd/manage.h"

#include "client/replica_pools.h"
#include "cmd/manage_talk.h"
#include "common/cleanup.h"
#include "common/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define MIB  (1 << 20)
#define LINE 256

static double mib(int64_t bytes) {
    return (double)bytes / MIB;
}

/* ", 512.0 of 2048.0 MiB moved, 120.0 MiB/s, 13 s left"; "" when unknown. */
static const char *progress_of(struct arena *arena, const struct remote_pool_drain *drain) {
    int64_t all = drain->moved_bytes + drain->left_bytes;
    const char *rate = "";

    if (drain->replicas == 0 || drain->left_bytes < 0 || drain->moved_bytes < 0)
        return "";
    if (drain->bytes_per_second > 0 && drain->remaining_s >= 0)
        rate = arena_format(arena, ", %.1f MiB/s, %" PRId64 " s left", mib(drain->bytes_per_second),
                            drain->remaining_s);
    return arena_format(arena, ", %.1f of %.1f MiB moved%s", mib(drain->moved_bytes), mib(all),
                        rate);
}

static void print_progress(const char *pool, const struct remote_pool_drain *drain,
                           char before[LINE]) {
    autoarena struct arena *arena = arena_new();
    char line[LINE];

    snprintf(line, sizeof line, "%" PRId64 " replica%s left%s", drain->replicas,
             drain->replicas == 1 ? "" : "s", progress_of(arena, drain));
    if (strcmp(before, line) == 0)
        return;
    printf("pool %s is drained: %s\n", pool, line);
    fflush(stdout);
    memcpy(before, line, LINE);
}

/* Until it is empty, is not draining any more, or the timeout. */
static int wait_until_empty(struct manage_talk *talk, const char *pool) {
    int64_t until_us = talk->timeout_s ? clock_monotonic_us() + talk->timeout_s * SECOND_US : 0;
    struct remote_pool_drain drain;
    char before[LINE] = "";

    for (;;) {
        autoarena struct arena *arena = arena_new();
        int drained = replica_pools_drained(&talk->api, arena, pool, &drain, &talk->err);

        if (drained < 0)
            return -1;
        if (drained == 0)
            return error_set(&talk->err, ERROR_CONFLICT, "pool %s is no longer draining", pool);
        print_progress(pool, &drain, before);
        if (drain.replicas == 0)
            return 0;
        if (until_us != 0 && clock_monotonic_us() >= until_us)
            return error_set(&talk->err, ERROR_UNAVAILABLE,
                             "timeout: pool %s has replicas and is drained further", pool);
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
    printf("pool %s is no longer draining\n", pool);
    return 0;
}

int manage_drain(const struct config *config, const char *const *words, bool json) {
    return manage_talk(config, words, json, "drain", drain);
}
