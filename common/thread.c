#include "common/thread.h"

#include "common/clock.h"

#include <stdio.h>

#define JOIN_PAUSE_US 5000

int thread_start(pthread_t *ret, const char *name, void *(*run)(void *arg), void *arg) {
    pthread_attr_t attributes;
    char kept[16];
    int code;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, THREAD_STACK_SIZE);
    code = pthread_create(ret, &attributes, run, arg);
    pthread_attr_destroy(&attributes);
    snprintf(kept, sizeof(kept), "%.15s", name);
    if (code == 0)
        pthread_setname_np(*ret, kept);
    return code;
}

/* pthread_timedjoin_np() uses the wall clock, which may be set meanwhile. */
bool thread_join_within(pthread_t thread, int64_t ms) {
    const struct timespec pause = clock_timespec(JOIN_PAUSE_US);
    int64_t until_us = clock_monotonic_us() + ms * 1000;

    while (pthread_tryjoin_np(thread, NULL) != 0) {
        if (clock_monotonic_us() >= until_us)
            return false;
        nanosleep(&pause, NULL);
    }
    return true;
}

void thread_cond_init(pthread_cond_t *cond) {
    pthread_condattr_t monotonic;

    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

bool thread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t until_us) {
    const struct timespec until = clock_timespec(until_us);

    return pthread_cond_timedwait(cond, lock, &until) == 0;
}
