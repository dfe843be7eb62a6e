/*
 * Calls into the file system of a pool, which may become unresponsive during one: detached calls
 * (common/detached_call.h), whose timeout depends on their kind and on the pool's health probes.  A
 * pool with an abandoned call that is still running is refused.
 *
 * Thread-safe but for pool_calls_free().
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct health_probes;
struct pool_calls;

struct pool_call {
    void (*run)(void *work, const atomic_bool *abandoned);
    void (*drop)(void *work); /* releases the resources of an abandoned run(); NULL: none */
    bool reads;               /* changes nothing: it has the timeout of a probe */
};

/* A call that may change something has a timeout of `most_ms`, and of ten times that while the pool
 * is not unresponsive to probes for `most_ms`.  NULL: no probes. */
struct pool_calls *pool_calls_new(struct health_probes *health_probes, int64_t most_ms);
/* Abandoned calls end by themselves, when they can. */
void pool_calls_free(struct pool_calls *calls);

/* Calls run() with a copy of `work`, `size` bytes without pointers: true, and *work is the result;
 * false: the pool is unresponsive, and *work is unchanged. */
bool pool_calls_do(struct pool_calls *calls, const char *pool, const struct pool_call *call,
                   void *work, size_t size);

/* 0: no abandoned call is running there; otherwise for how long, in milliseconds, one has been.  At
 * most a few seconds between two calls count. */
int64_t pool_calls_unresponsive_ms(struct pool_calls *calls, const char *pool);
/* An abandoned call is still running. */
bool pool_calls_are_abandoned(struct pool_calls *calls);
/* The same of one that may change something. */
bool pool_calls_may_change(struct pool_calls *calls);
