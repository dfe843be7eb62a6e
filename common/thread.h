/*
 * Threads, and waits until an instant of CLOCK_MONOTONIC.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The stack of all threads, and the least that a function can rely on.  The bound of each recursion
 * over input fits into it (tests/lint/recursion.list). */
#define THREAD_STACK_SIZE ((size_t)256 * 1024)

/* Starts a thread with a small stack; the kernel keeps 15 characters of the name.  0, or an
 * errno. */
int thread_start(pthread_t *ret, const char *name, void *(*run)(void *arg), void *arg);

/* pthread_join() with a timeout; false: the thread has not ended. */
bool thread_join_within(pthread_t thread, int64_t ms);

void thread_cond_init(pthread_cond_t *cond);
/* pthread_cond_wait() until `until_us`; false: timed out.  The condition uses CLOCK_MONOTONIC. */
bool thread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t until_us);

static inline void cleanup_unlock(pthread_mutex_t *const *lock) {
    pthread_mutex_unlock(*lock);
}

/* Locks the mutex until the end of the block. */
#define scoped_lock(mutex)                                                                    \
    __attribute__((cleanup(cleanup_unlock), unused)) pthread_mutex_t *scoped_lock_ = (mutex); \
    pthread_mutex_lock(scoped_lock_)
