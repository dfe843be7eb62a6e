#include "storage/pool_calls.h"

#include "common/clock.h"
#include "common/heap.h"
#include "common/thread.h"
#include "storage/knocks.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#define MOMENT_US (5 * SECOND_US) /* a disk that is merely busy has answered a look by then */
#define SLICE_US  SECOND_US       /* who was stopped has seen no more of it than this */
#define PATIENCE  10              /* times as long, where knocks are answered */

/* Of the thread that makes it and of who waits for it; goes with the last of them. */
struct made {
    atomic_uint holders;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    bool has_ended;
    atomic_bool left; /* is set with the lock, too */
    const struct pool_call *call;
    _Alignas(max_align_t) unsigned char work[]; /* the thread's until it has ended */
};

struct left {
    LIST_ENTRY(left) next;
    char *pool;
    struct made *made;
    /* Its silence, as far as somebody was there to see it: */
    int64_t looked_us, silence_us;
};

struct pool_calls {
    struct knocks *knocks;
    int64_t most_us;
    LIST_HEAD(left_list, left) left;
};

/* ---- one call ---- */

static void let_go(struct made *made) {
    if (atomic_fetch_sub(&made->holders, 1) > 1)
        return;
    pthread_cond_destroy(&made->changed);
    pthread_mutex_destroy(&made->lock);
    free(made);
}

static bool has_ended(struct made *made) {
    bool ended;

    pthread_mutex_lock(&made->lock);
    ended = made->has_ended;
    pthread_mutex_unlock(&made->lock);
    return ended;
}

/* false: not yet, as it was left, and what it has is to be dropped first. */
static bool note_end(struct made *made, bool dropped) {
    bool ended;

    pthread_mutex_lock(&made->lock);
    ended = made->has_ended = dropped || !made->left;
    pthread_cond_signal(&made->changed);
    pthread_mutex_unlock(&made->lock);
    return ended;
}

static void *run(void *arg) {
    struct made *made = arg;

    made->call->run(made->work, &made->left);
    if (!note_end(made, !made->call->drop)) {
        made->call->drop(made->work);
        note_end(made, true);
    }
    let_go(made);
    return NULL;
}

/* NULL: no thread is to be had. */
static struct made *begin(const struct pool_call *call, const void *work, size_t size,
                          pthread_t *ret) {
    struct made *made = heap_new(sizeof(*made) + size);

    atomic_init(&made->holders, 2);
    atomic_init(&made->left, false);
    pthread_mutex_init(&made->lock, NULL);
    thread_cond_init(&made->changed);
    made->call = call;
    memcpy(made->work, work, size);
    if (thread_start(ret, "pool call", run, made) == 0)
        return made;
    let_go(made);
    let_go(made);
    return NULL;
}

static int64_t at_most(int64_t us, int64_t most_us) {
    return us < most_us ? us : most_us;
}

/* Until it has ended, or so much of its silence was seen. */
static bool await_end(struct made *made, int64_t most_us, int64_t *seen_us) {
    int64_t looked_us = clock_monotonic_us();
    bool ended;

    pthread_mutex_lock(&made->lock);
    while (!made->has_ended && *seen_us < most_us) {
        int64_t before_us = looked_us;

        thread_cond_wait(&made->changed, &made->lock, before_us + SLICE_US);
        looked_us = clock_monotonic_us();
        *seen_us += at_most(looked_us - before_us, SLICE_US);
    }
    ended = made->has_ended;
    pthread_mutex_unlock(&made->lock);
    return ended;
}

/* A disk that has much to write before it has written ours is slow, and answers to knocks. */
static bool is_borne_with(const struct pool_calls *calls, const char *pool, int64_t seen_us) {
    int64_t silence_us =
        calls->knocks ? knocks_silence_ms(calls->knocks, pool) * 1000 : calls->most_us;

    return seen_us < calls->most_us ||
           (silence_us < calls->most_us && seen_us < PATIENCE * calls->most_us);
}

static bool bear_with(const struct pool_calls *calls, const char *pool, struct made *made,
                      int64_t *seen_us) {
    bool looks = made->call->looks;
    bool ended = await_end(made, looks ? MOMENT_US : at_most(MOMENT_US, calls->most_us), seen_us);

    while (!ended && !looks && is_borne_with(calls, pool, *seen_us))
        ended = await_end(made, *seen_us + SLICE_US, seen_us);
    return ended;
}

/* ---- those that were left ---- */

static struct left *find(struct pool_calls *calls, const char *pool) {
    struct left *left;

    LIST_FOREACH(left, &calls->left, next) {
        if (strcmp(left->pool, pool) == 0)
            return left;
    }
    return NULL;
}

/* false: it has ended after all. */
static bool leave(struct pool_calls *calls, const char *pool, struct made *made, int64_t seen_us) {
    struct left *left;

    pthread_mutex_lock(&made->lock);
    made->left = !made->has_ended;
    pthread_mutex_unlock(&made->lock);
    if (!made->left)
        return false;
    left = heap_new(sizeof(*left));
    left->pool = heap_text(pool);
    left->made = made;
    left->looked_us = clock_monotonic_us();
    left->silence_us = seen_us;
    LIST_INSERT_HEAD(&calls->left, left, next);
    return true;
}

static void drop(struct left *left) {
    LIST_REMOVE(left, next);
    let_go(left->made);
    free(left->pool);
    free(left);
}

static void drop_ended(struct pool_calls *calls) {
    struct left *left, *next;

    for (left = LIST_FIRST(&calls->left); left; left = next) {
        next = LIST_NEXT(left, next);
        if (has_ended(left->made))
            drop(left);
    }
}

bool pool_calls_are_left(struct pool_calls *calls) {
    drop_ended(calls);
    return !LIST_EMPTY(&calls->left);
}

bool pool_calls_may_change(struct pool_calls *calls) {
    const struct left *left;

    drop_ended(calls);
    LIST_FOREACH(left, &calls->left, next) {
        if (!left->made->call->looks)
            return true;
    }
    return false;
}

int64_t pool_calls_silence_ms(struct pool_calls *calls, const char *pool) {
    int64_t now_us = clock_monotonic_us();
    struct left *left;

    drop_ended(calls);
    left = find(calls, pool);
    if (!left)
        return 0;
    left->silence_us += at_most(now_us - left->looked_us, MOMENT_US);
    left->looked_us = now_us;
    return left->silence_us / 1000 + 1;
}

bool pool_calls_do(struct pool_calls *calls, const char *pool, const struct pool_call *call,
                   void *work, size_t size) {
    static const atomic_bool never = false;
    struct made *made;
    pthread_t thread;
    int64_t seen_us = 0;

    if (pool_calls_silence_ms(calls, pool) > 0)
        return false;
    made = begin(call, work, size, &thread);
    if (!made) {
        call->run(work, &never);
        return true;
    }
    if (!bear_with(calls, pool, made, &seen_us) && leave(calls, pool, made, seen_us)) {
        pthread_detach(thread);
        return false;
    }
    pthread_join(thread, NULL);
    memcpy(work, made->work, size);
    let_go(made);
    return true;
}

/* ---- begin and end ---- */

struct pool_calls *pool_calls_new(struct knocks *knocks, int64_t most_ms) {
    struct pool_calls *calls = heap_new(sizeof(*calls));

    calls->knocks = knocks;
    calls->most_us = most_ms * 1000;
    LIST_INIT(&calls->left);
    return calls;
}

void pool_calls_free(struct pool_calls *calls) {
    if (!calls)
        return;
    while (!LIST_EMPTY(&calls->left))
        drop(LIST_FIRST(&calls->left));
    free(calls);
}
