/*
 * A pool of threads and a queue of work in front of it.
 *
 * Items with the same non-empty key run one after the other, in the order in which they were put
 * in; others run in any order.
 *
 * The threads are shared out among groups: the next item is of the group that has the fewest of
 * them, and of several such of the one that has waited longest.  So nobody's queue is in front of
 * somebody else's, however long it is and whatever its items take; and whoever is alone has every
 * thread.  An item that is behind one of its key waits for that, of whichever group it is.
 */
#pragma once

#include <stdint.h>

struct worker_pool;

struct work_item {
    const char *key;   /* copied; NULL or "": no ordering */
    const char *group; /* copied; NULL is "", one like any other */
    void (*run)(void *arg);
    void *arg;
};

struct worker_pool *worker_pool_new(const char *name, unsigned threads);
/* No group has more than `group_most` of the threads, also when it is alone: the others find one
 * at once. */
struct worker_pool *worker_pool_new_shared(const char *name, unsigned threads, unsigned group_most);
/* The same: of four threads and more each group leaves one to the others. */
struct worker_pool *worker_pool_new_fair(const char *name, unsigned threads);
/* How many of `threads` one group has at most there. */
unsigned worker_share(unsigned threads);
void worker_pool_put(struct worker_pool *pool, const struct work_item *item);
/* As put, but not before `delay_ms` have passed (monotonic). Dropped when the pool stops first. */
void worker_pool_put_later(struct worker_pool *pool, const struct work_item *item,
                           int64_t delay_ms);
/* queued and running, without delayed ones */
unsigned worker_pool_pending(struct worker_pool *pool);
/* Begins nothing more and waits for nothing: for several pools that end at once. */
void worker_pool_close(struct worker_pool *pool);
/* Waits for what runs, drops what is queued (the database still has it), frees the pool. */
void worker_pool_stop(struct worker_pool *pool);
