#include "replication/node/pool_calls.h"

#include "common/clock.h"
#include "common/detached_call.h"
#include "common/heap.h"
#include "replication/node/knocks.h"

#include <errno.h>
#include <stdlib.h>

#define MOMENT_US (5 * SECOND_US) /* a disk that is merely busy has answered a look by then */
#define PATIENCE  10              /* times as long, where knocks are answered */

struct pool_calls {
    struct knocks *knocks;
    int64_t most_us;
    struct detached_calls *looks, *changes;
};

bool pool_calls_are_left(struct pool_calls *calls) {
    return detached_calls_abandoned(calls->looks) > 0 || pool_calls_may_change(calls);
}

bool pool_calls_may_change(struct pool_calls *calls) {
    return detached_calls_abandoned(calls->changes) > 0;
}

int64_t pool_calls_silence_ms(struct pool_calls *calls, const char *pool) {
    int64_t look_ms = detached_calls_silence_ms(calls->looks, pool);
    int64_t change_ms = detached_calls_silence_ms(calls->changes, pool);

    return look_ms > change_ms ? look_ms : change_ms;
}

struct waiting {
    const struct pool_calls *calls;
    const char *pool;
};

/* A disk that has much to write before it has written ours is slow, and answers to knocks. */
static bool is_borne_with(void *arg, int64_t waited_us) {
    const struct waiting *waiting = arg;
    const struct pool_calls *calls = waiting->calls;
    int64_t silence_us =
        calls->knocks ? knocks_silence_ms(calls->knocks, waiting->pool) * 1000 : calls->most_us;

    return waited_us < calls->most_us ||
           (silence_us < calls->most_us && waited_us < PATIENCE * calls->most_us);
}

bool pool_calls_do(struct pool_calls *calls, const char *pool, const struct pool_call *call,
                   void *work, size_t size) {
    static const atomic_bool never = false;
    const struct detached_function function = { .run = call->run, .drop = call->drop };
    struct waiting waiting = { calls, pool };
    const struct detached_limit look_limit = { .us = MOMENT_US };
    const struct detached_limit change_limit = {
        .us = calls->most_us < MOMENT_US ? calls->most_us : MOMENT_US,
        .extend = is_borne_with,
        .arg = &waiting,
    };
    int reason;

    if (pool_calls_silence_ms(calls, pool) > 0)
        return false;
    reason = detached_call(call->looks ? calls->looks : calls->changes, pool, &function, work, size,
                           call->looks ? &look_limit : &change_limit);
    if (reason == EAGAIN)
        call->run(work, &never);
    return reason == 0 || reason == EAGAIN;
}

struct pool_calls *pool_calls_new(struct knocks *knocks, int64_t most_ms) {
    struct pool_calls *calls = heap_new(sizeof(*calls));

    calls->knocks = knocks;
    calls->most_us = most_ms * 1000;
    calls->looks = detached_calls_new("pool look", NULL, NULL);
    calls->changes = detached_calls_new("pool call", NULL, NULL);
    return calls;
}

void pool_calls_free(struct pool_calls *calls) {
    if (!calls)
        return;
    detached_calls_free(calls->looks);
    detached_calls_free(calls->changes);
    free(calls);
}
