#include "replication/node/pool_calls.h"

#include "common/clock.h"
#include "common/detached_call.h"
#include "common/heap.h"
#include "replication/node/health_probes.h"

#include <errno.h>
#include <stdlib.h>

#define MOMENT_US   (5 * SECOND_US) /* sufficient for a read of a busy disk */
#define SLOW_FACTOR 10              /* times as long, while probes succeed */

struct pool_calls {
    struct health_probes *health_probes;
    int64_t most_us;
    struct detached_calls *reads, *changes;
};

bool pool_calls_are_abandoned(struct pool_calls *calls) {
    return detached_calls_abandoned(calls->reads) > 0 || pool_calls_may_change(calls);
}

bool pool_calls_may_change(struct pool_calls *calls) {
    return detached_calls_abandoned(calls->changes) > 0;
}

int64_t pool_calls_unresponsive_ms(struct pool_calls *calls, const char *pool) {
    int64_t read_ms = detached_calls_silence_ms(calls->reads, pool);
    int64_t change_ms = detached_calls_silence_ms(calls->changes, pool);

    return read_ms > change_ms ? read_ms : change_ms;
}

struct waiting {
    const struct pool_calls *calls;
    const char *pool;
};

/* A disk with many other writes in its queue is slow, and responsive to probes. */
static bool may_take_longer(void *arg, int64_t waited_us) {
    const struct waiting *waiting = arg;
    const struct pool_calls *calls = waiting->calls;
    int64_t unresponsive_us =
        calls->health_probes
            ? health_probes_unresponsive_ms(calls->health_probes, waiting->pool) * 1000
            : calls->most_us;

    return waited_us < calls->most_us ||
           (unresponsive_us < calls->most_us && waited_us < SLOW_FACTOR * calls->most_us);
}

bool pool_calls_do(struct pool_calls *calls, const char *pool, const struct pool_call *call,
                   void *work, size_t size) {
    static const atomic_bool never = false;
    const struct detached_function function = { .run = call->run, .drop = call->drop };
    struct waiting waiting = { calls, pool };
    const struct detached_limit read_limit = { .us = MOMENT_US };
    const struct detached_limit change_limit = {
        .us = calls->most_us < MOMENT_US ? calls->most_us : MOMENT_US,
        .extend = may_take_longer,
        .arg = &waiting,
    };
    int reason;

    if (pool_calls_unresponsive_ms(calls, pool) > 0)
        return false;
    reason = detached_call(call->reads ? calls->reads : calls->changes, pool, &function, work, size,
                           call->reads ? &read_limit : &change_limit);
    if (reason == EAGAIN)
        call->run(work, &never);
    return reason == 0 || reason == EAGAIN;
}

struct pool_calls *pool_calls_new(struct health_probes *health_probes, int64_t most_ms) {
    struct pool_calls *calls = heap_new(sizeof(*calls));

    calls->health_probes = health_probes;
    calls->most_us = most_ms * 1000;
    calls->reads = detached_calls_new("pool read", NULL, NULL);
    calls->changes = detached_calls_new("pool call", NULL, NULL);
    return calls;
}

void pool_calls_free(struct pool_calls *calls) {
    if (!calls)
        return;
    detached_calls_free(calls->reads);
    detached_calls_free(calls->changes);
    free(calls);
}
