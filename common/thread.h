/*
 * Threads, and waiting until an instant of CLOCK_MONOTONIC.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of the threads of ours, and of those that serve HTTP: the smallest that a function may find. What
 * recurses over input has a bound that this holds (tests/lint/recursion.list). */
#define THREAD_STACK_SIZE ((size_t)256 * 1024)

/* One with a small stack; the kernel keeps 15 characters of the name.  0, or why not (errno). */
int thread_start(pthread_t *ret, const char *name, void *(*run)(void *arg), void *arg);

/* pthread_join(); false: it has not ended in that time. */
bool thread_join_within(pthread_t thread, int64_t ms);

void thread_cond_init(pthread_cond_t *cond);
/* pthread_cond_wait() of such a one; false: `until_us` has passed. */
bool thread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t until_us);
