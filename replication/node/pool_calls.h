/*
 * Calls into the file system of a pool, which may cease to answer in the middle of one: detached
 * calls (common/detached_call.h), whose limit depends on what they do and on the pool's answers to
 * probes.  A pool that an abandoned call is still in is refused.
 *
 * Belongs to one thread.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct knocks;
struct pool_calls;

struct pool_call {
    void (*run)(void *work, const atomic_bool *left);
    void (*drop)(void *work); /* gives back what run() has of one that was left; NULL: nothing */
    bool looks;               /* and changes nothing: then it has no more time than a knock */
};

/* A call that may change something has `most_ms`, and ten times that as long as the pool was not
 * silent to knocks for `most_ms`.  NULL: nobody knocks. */
struct pool_calls *pool_calls_new(struct knocks *knocks, int64_t most_ms);
/* Those that are left behind end by themselves, when they can. */
void pool_calls_free(struct pool_calls *calls);

/* run() of a copy of `work`, which is `size` bytes that point to nothing: true, and *work is what
 * it made of it; false: the pool does not answer, and *work is as it was. */
bool pool_calls_do(struct pool_calls *calls, const char *pool, const struct pool_call *call,
                   void *work, size_t size);

/* 0: none was left there, or all have come back; else for how many milliseconds one has not, of
 * which no more than some seconds lie between two that asked. */
int64_t pool_calls_silence_ms(struct pool_calls *calls, const char *pool);
/* One that was left has not come back. */
bool pool_calls_are_left(struct pool_calls *calls);
/* The same of one that may change something yet. */
bool pool_calls_may_change(struct pool_calls *calls);
