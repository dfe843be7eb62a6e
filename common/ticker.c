#include "common/ticker.h"

#include "common/clock.h"
#include "common/heap.h"
#include "common/thread.h"

#include <stdlib.h>

struct ticker {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stop, woken, ticked; /* guarded by lock */
    int64_t (*tick)(void *arg);
    void *arg;
};

/* The caller holds the lock; false: timed out. */
static bool wait_until(struct ticker *ticker, int64_t until_us) {
    return thread_cond_wait(&ticker->changed, &ticker->lock, until_us);
}

static void *tick_for_ever(void *arg) {
    struct ticker *ticker = arg;

    pthread_mutex_lock(&ticker->lock);
    while (!ticker->stop) {
        int64_t pause_ms, next_us;

        ticker->woken = false;
        pthread_mutex_unlock(&ticker->lock);
        pause_ms = ticker->tick(ticker->arg);
        next_us = clock_monotonic_us() + pause_ms * 1000;
        pthread_mutex_lock(&ticker->lock);
        ticker->ticked = true;
        pthread_cond_broadcast(&ticker->changed);
        while (!ticker->stop && !ticker->woken && wait_until(ticker, next_us))
            ;
    }
    pthread_mutex_unlock(&ticker->lock);
    return NULL;
}

struct ticker *ticker_start(const char *name, int64_t (*tick)(void *arg), void *arg) {
    struct ticker *ticker = heap_new(sizeof *ticker);

    *ticker = (struct ticker){ .tick = tick, .arg = arg };
    pthread_mutex_init(&ticker->lock, NULL);
    thread_cond_init(&ticker->changed);
    if (thread_start(&ticker->thread, name, tick_for_ever, ticker) != 0)
        abort();
    return ticker;
}

bool ticker_wait_first(struct ticker *ticker, int64_t until_us) {
    scoped_lock(&ticker->lock);
    while (!ticker->ticked && wait_until(ticker, until_us))
        ;
    return ticker->ticked;
}

static void set(struct ticker *ticker, bool *flag) {
    scoped_lock(&ticker->lock);
    *flag = true;
    pthread_cond_broadcast(&ticker->changed);
}

void ticker_wake(struct ticker *ticker) {
    set(ticker, &ticker->woken);
}

void ticker_stop(struct ticker *ticker) {
    set(ticker, &ticker->stop);
    pthread_join(ticker->thread, NULL);
    pthread_cond_destroy(&ticker->changed);
    pthread_mutex_destroy(&ticker->lock);
    free(ticker);
}
