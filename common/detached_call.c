#include "common/detached_call.h"

#include "common/clock.h"
#include "common/heap.h"
#include "common/thread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#define SLICE_US \
    SECOND_US                    /* of one wait: longer steps are time during which the process was
                                  * suspended */
#define QUERY_US (5 * SECOND_US) /* most unresponsive time counted between two queries */

/* Owned by the caller until detached_finish(), afterwards by the thread if the call has not
 * returned. */
struct detached_call {
    LIST_ENTRY(detached_call) next; /* in the list of abandoned calls */
    struct detached_calls *calls;
    struct detached_function function;
    char *key;
    size_t size;
    pthread_cond_t changed;
    bool has_returned;
    atomic_bool abandoned;                      /* written with the lock */
    int64_t silence_us, queried_us;             /* time without a return, without suspended time */
    _Alignas(max_align_t) unsigned char work[]; /* the thread's until the call has returned */
};

struct detached_calls {
    char *name;
    void (*last)(void *arg);
    void *arg;
    pthread_mutex_t lock; /* guards the members below, and the calls */
    unsigned holders;     /* the owner and each call */
    unsigned count;
    LIST_HEAD(detached_list, detached_call) abandoned;
};

/* ---- a set ---- */

/* The caller holds the lock, which this releases. */
static void release(struct detached_calls *calls) {
    bool is_last = --calls->holders == 0;

    pthread_mutex_unlock(&calls->lock);
    if (!is_last)
        return;
    if (calls->last)
        calls->last(calls->arg);
    pthread_mutex_destroy(&calls->lock);
    free(calls->name);
    free(calls);
}

struct detached_calls *detached_calls_new(const char *name, void (*last)(void *arg), void *arg) {
    struct detached_calls *calls = heap_new(sizeof(*calls));

    calls->name = heap_text(name);
    calls->last = last;
    calls->arg = arg;
    calls->holders = 1;
    pthread_mutex_init(&calls->lock, NULL);
    LIST_INIT(&calls->abandoned);
    return calls;
}

void detached_calls_free(struct detached_calls *calls) {
    if (!calls)
        return;
    pthread_mutex_lock(&calls->lock);
    release(calls);
}

/* The caller holds the lock. */
static struct detached_call *find_abandoned(struct detached_calls *calls, const char *key) {
    struct detached_call *call;

    LIST_FOREACH(call, &calls->abandoned, next) {
        if (strcmp(call->key, key) == 0)
            return call;
    }
    return NULL;
}

unsigned detached_calls_abandoned(struct detached_calls *calls) {
    scoped_lock(&calls->lock);
    return calls->count;
}

static int64_t at_most(int64_t us, int64_t most_us) {
    return us < most_us ? us : most_us;
}

int64_t detached_calls_silence_ms(struct detached_calls *calls, const char *key) {
    struct detached_call *call;
    int64_t now_us, ms = 0;

    scoped_lock(&calls->lock);
    call = find_abandoned(calls, key);
    if (call) {
        now_us = clock_monotonic_us();
        call->silence_us += at_most(now_us - call->queried_us, QUERY_US);
        call->queried_us = now_us;
        ms = call->silence_us / 1000 + 1;
    }
    return ms;
}

/* ---- a call ---- */

static void call_free(struct detached_call *call) {
    pthread_cond_destroy(&call->changed);
    free(call->key);
    free(call);
}

static void *run(void *arg) {
    struct detached_call *call = arg;
    struct detached_calls *calls = call->calls;
    bool abandoned;

    call->function.run(call->work, &call->abandoned);
    pthread_mutex_lock(&calls->lock);
    abandoned = call->abandoned;
    call->has_returned = !abandoned;
    pthread_cond_signal(&call->changed);
    pthread_mutex_unlock(&calls->lock);
    if (!abandoned)
        return NULL;
    /* Its resources are released before the next call of its key starts. */
    if (call->function.drop)
        call->function.drop(call->work);
    pthread_mutex_lock(&calls->lock);
    LIST_REMOVE(call, next);
    calls->count--;
    call_free(call);
    release(calls);
    return NULL;
}

/* The caller holds the lock. */
static struct detached_call *start(struct detached_calls *calls, const char *key,
                                   const struct detached_function *function, const void *work,
                                   size_t size) {
    struct detached_call *call = heap_new(sizeof(*call) + size);
    pthread_t thread;

    call->calls = calls;
    call->function = *function;
    call->key = heap_text(key);
    call->size = size;
    atomic_init(&call->abandoned, false);
    thread_cond_init(&call->changed);
    memcpy(call->work, work, size);
    if (thread_start(&thread, calls->name, run, call) != 0) {
        call_free(call);
        return NULL;
    }
    pthread_detach(thread);
    calls->holders++;
    return call;
}

struct detached_call *detached_start(struct detached_calls *calls, const char *key,
                                     const struct detached_function *function, const void *work,
                                     size_t size) {
    scoped_lock(&calls->lock);
    return start(calls, key, function, work, size);
}

bool detached_has_returned(struct detached_call *call) {
    pthread_mutex_t *lock = &call->calls->lock;
    bool has_returned;

    scoped_lock(lock);
    has_returned = call->has_returned;
    return has_returned;
}

bool detached_finish(struct detached_call *call, void *work) {
    struct detached_calls *calls = call->calls;

    pthread_mutex_lock(&calls->lock);
    if (!call->has_returned) {
        call->abandoned = true;
        call->queried_us = clock_monotonic_us();
        LIST_INSERT_HEAD(&calls->abandoned, call, next);
        calls->count++;
        pthread_mutex_unlock(&calls->lock);
        return false;
    }
    memcpy(work, call->work, call->size);
    call_free(call);
    release(calls);
    return true;
}

/* Returns when the call has returned or was unresponsive for that long. */
static bool wait_for_return(struct detached_call *call, int64_t most_us) {
    pthread_mutex_t *lock = &call->calls->lock;
    int64_t seen_us = clock_monotonic_us();
    bool has_returned;

    scoped_lock(lock);
    while (!call->has_returned && call->silence_us < most_us) {
        int64_t before_us = seen_us, rest_us = most_us - call->silence_us;

        thread_cond_wait(&call->changed, lock, before_us + at_most(rest_us, SLICE_US));
        seen_us = clock_monotonic_us();
        call->silence_us += at_most(seen_us - before_us, SLICE_US);
    }
    has_returned = call->has_returned;
    return has_returned;
}

int detached_call(struct detached_calls *calls, const char *key,
                  const struct detached_function *function, void *work, size_t size,
                  const struct detached_limit *limit) {
    int64_t most_us = limit->us;
    struct detached_call *call;
    bool refused;

    pthread_mutex_lock(&calls->lock);
    refused = find_abandoned(calls, key) != NULL;
    call = refused ? NULL : start(calls, key, function, work, size);
    pthread_mutex_unlock(&calls->lock);
    if (!call)
        return refused ? EBUSY : EAGAIN;
    while (!wait_for_return(call, most_us) && limit->extend &&
           limit->extend(limit->arg, call->silence_us))
        most_us = call->silence_us + SLICE_US;
    return detached_finish(call, work) ? 0 : ETIMEDOUT;
}
