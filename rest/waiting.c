#include "rest/waiting.h"

#include "common/clock.h"
#include "common/heap.h"
#include "common/thread.h"

#include <stdlib.h>

#define POLL_US 100000

STAILQ_HEAD(waiters, waiter);

struct waiting {
    waiting_check *check;
    pthread_t thread;
    bool threaded;

    pthread_mutex_t lock; /* guards the members below */
    pthread_cond_t wake;
    struct waiters parked; /* in order of arrival */
    bool look, stop;
};

/* Checks all parked ones; those that must keep waiting are parked again. */
static void waiting_round(struct waiting *waiting, bool stop) {
    struct waiters taken = STAILQ_HEAD_INITIALIZER(taken), left = STAILQ_HEAD_INITIALIZER(left);
    struct waiter *waiter;

    pthread_mutex_lock(&waiting->lock);
    STAILQ_CONCAT(&taken, &waiting->parked);
    pthread_mutex_unlock(&waiting->lock);
    while ((waiter = STAILQ_FIRST(&taken))) {
        bool late = clock_monotonic_us() >= waiter->deadline_us;

        STAILQ_REMOVE_HEAD(&taken, next);
        if (!waiting->check(waiter, stop ? WAITING_STOP : late ? WAITING_TIMEOUT : WAITING_LOOK))
            STAILQ_INSERT_TAIL(&left, waiter, next);
    }
    pthread_mutex_lock(&waiting->lock);
    STAILQ_CONCAT(&left, &waiting->parked);
    STAILQ_CONCAT(&waiting->parked, &left);
    pthread_mutex_unlock(&waiting->lock);
}

static void *waiting_main(void *arg) {
    struct waiting *waiting = arg;

    pthread_mutex_lock(&waiting->lock);
    while (!waiting->stop) {
        if (!waiting->look || STAILQ_EMPTY(&waiting->parked)) {
            if (STAILQ_EMPTY(&waiting->parked))
                pthread_cond_wait(&waiting->wake, &waiting->lock);
            else if (!thread_cond_wait(&waiting->wake, &waiting->lock,
                                       clock_monotonic_us() + POLL_US))
                waiting->look = true;
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
    scoped_lock(&waiting->lock);
    if (waiter)
        STAILQ_INSERT_TAIL(&waiting->parked, waiter, next);
    waiting->look = true;
    waiting->stop |= stop;
    pthread_cond_signal(&waiting->wake);
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
    struct waiting *waiting = heap_new(sizeof *waiting);

    STAILQ_INIT(&waiting->parked);
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
