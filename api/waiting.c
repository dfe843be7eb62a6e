#include "api/waiting.h"

#include "common/clock.h"
#include "common/thread.h"

#include <stdlib.h>

#define POLL_US 100000

struct waiting {
    waiting_check *check;
    pthread_t thread;
    bool threaded;

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t wake;
    struct waiter *parked;
    bool look, stop;
};

static enum waiting_reason waiter_reason(const struct waiter *waiter, bool stop) {
    if (stop)
        return WAITING_STOP;
    return clock_monotonic_us() >= waiter->deadline_us ? WAITING_TIMEOUT : WAITING_LOOK;
}

/* Looks at everything that is parked now; what has to wait on is parked again. */
static void waiting_round(struct waiting *waiting, bool stop) {
    struct waiter *taken, *next, *left = NULL, **end = &left;

    pthread_mutex_lock(&waiting->lock);
    taken = waiting->parked;
    waiting->parked = NULL;
    pthread_mutex_unlock(&waiting->lock);
    for (; taken; taken = next) {
        enum waiting_reason reason = waiter_reason(taken, stop);

        next = taken->next;
        if (waiting->check(taken, reason))
            continue;
        *end = taken;
        end = &taken->next;
    }
    pthread_mutex_lock(&waiting->lock);
    *end = waiting->parked;
    waiting->parked = left;
    pthread_mutex_unlock(&waiting->lock);
}

static void waiting_sleep(struct waiting *waiting) {
    if (!waiting->parked)
        pthread_cond_wait(&waiting->wake, &waiting->lock);
    else if (!thread_cond_wait(&waiting->wake, &waiting->lock, clock_monotonic_us() + POLL_US))
        waiting->look = true;
}

static void *waiting_main(void *arg) {
    struct waiting *waiting = arg;

    pthread_mutex_lock(&waiting->lock);
    while (!waiting->stop) {
        if (!waiting->look || !waiting->parked) {
            waiting_sleep(waiting);
            continue;
        }
        waiting->look = false;
        pthread_mutex_unlock(&waiting->lock);
        waiting_round(waiting, false);
        pthread_mutex_lock(&waiting->lock);
    }
    pthread_mutex_unlock(&waiting->lock);
    return NULL;
}

static void waiting_wake(struct waiting *waiting, struct waiter *waiter, bool stop) {
    pthread_mutex_lock(&waiting->lock);
    if (waiter) {
        waiter->next = waiting->parked;
        waiting->parked = waiter;
    }
    waiting->look = true;
    waiting->stop |= stop;
    pthread_cond_signal(&waiting->wake);
    pthread_mutex_unlock(&waiting->lock);
}

void waiting_free(struct waiting *waiting) {
    waiting_wake(waiting, NULL, true);
    if (waiting->threaded)
        pthread_join(waiting->thread, NULL);
    waiting_round(waiting, true);
    pthread_cond_destroy(&waiting->wake);
    pthread_mutex_destroy(&waiting->lock);
    free(waiting);
}

struct waiting *waiting_new(waiting_check *check, bool threaded) {
    struct waiting *waiting = calloc(1, sizeof(*waiting));

    if (!waiting)
        abort();
    waiting->check = check;
    waiting->threaded = threaded;
    pthread_mutex_init(&waiting->lock, NULL);
    thread_cond_init(&waiting->wake);
    if (threaded && thread_start(&waiting->thread, "api-waiting", waiting_main, waiting) != 0) {
        waiting->threaded = false;
        waiting_free(waiting);
        return NULL;
    }
    return waiting;
}

void waiting_put(struct waiting *waiting, struct waiter *waiter, int64_t timeout_ms) {
    waiter->deadline_us = clock_monotonic_us() + timeout_ms * 1000;
    waiting_wake(waiting, waiter, false);
}

void waiting_look(struct waiting *waiting) {
    if (waiting->threaded)
        waiting_wake(waiting, NULL, false);
    else
        waiting_round(waiting, false);
}
