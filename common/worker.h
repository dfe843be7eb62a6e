/*
 * A thread pool with a work queue.  The first thread is started with it, the others when there are
 * as many items.
 *
 * Items with the same non-empty key run one after the other in the order in which they were added;
 * others run in any order.
 *
 * Threads are shared fairly among groups: the next item is of the group with the fewest running
 * threads, and among equals of the one that has waited longest.  A long queue of one group does not
 * delay another, and a single group can use every thread.  An item that follows another one of its
 * key waits for that, regardless of their groups.
 */
#pragma once

#include <stdint.h>

struct worker_pool;

struct work_item {
    const char *key;   /* copied; NULL or "": no ordering */
    const char *group; /* copied; NULL equals "" */
    void (*run)(void *arg);
    void *arg;
};

struct worker_pool *worker_pool_new(const char *name, unsigned threads);
/* A group uses at most `group_most` threads even when it is alone, so that other groups find a free
 * one. */
struct worker_pool *worker_pool_new_shared(const char *name, unsigned threads, unsigned group_most);
/* The same, with worker_share(threads). */
struct worker_pool *worker_pool_new_fair(const char *name, unsigned threads);
/* Most threads of one group: with four threads and more one is left to other groups. */
unsigned worker_share(unsigned threads);
void worker_pool_put(struct worker_pool *pool, const struct work_item *item);
/* As worker_pool_put(), after `delay_ms` (monotonic). Dropped when the pool stops first. */
void worker_pool_put_later(struct worker_pool *pool, const struct work_item *item,
                           int64_t delay_ms);
/* queued and running, without delayed ones */
unsigned worker_pool_pending(struct worker_pool *pool);
/* Starts no further item and does not wait: for several pools that stop at once. */
void worker_pool_close(struct worker_pool *pool);
/* Waits for running items, drops queued ones (their operations stay in the database) and frees the
 * pool. */
void worker_pool_stop(struct worker_pool *pool);
