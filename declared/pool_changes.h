/*
 * Which pools differ from what they were when they were looked at last, as far as settled configs
 * and those that wait for a pool depend on it.  Belongs to one thread.
 *
 * A storage agent that reports another state of its pool again and again has its configs evaluated
 * POOL_CHANGES_MOST times in POOL_CHANGES_US; a later change waits for the next resync, or the end
 * of that time.
 */
#pragma once

#include "declared/replica_pool.h"

#define POOL_CHANGES_US   (30 * SECOND_US)
#define POOL_CHANGES_MOST 3

struct pool_changes;

/* A pool and the nodes that it was and is of; until the next call of anything here. */
struct pool_change {
    const char *pool, *node, *old_node;
};

struct pool_changes *pool_changes_new(void);
void pool_changes_free(struct pool_changes *changes);

/* As all pools are now. */
void pool_changes_note(struct pool_changes *changes, const struct replica_pool *pools,
                       unsigned count);
/* As these pools are now they were noted: a later change of them is one. */
bool pool_changes_know(const struct pool_changes *changes, const struct replica_pool *pools,
                       unsigned count);
/* One that has changed and is not dealt with: it is from now on.  `all`: whatever its rate. */
bool pool_changes_take(struct pool_changes *changes, int64_t now_us, bool all,
                       struct pool_change *ret);
/* Other pools can take replicas than before, which was not dealt with: it is from now on.  Unless
 * something waits for them, there is nothing to deal with. */
bool pool_changes_take_accepting(struct pool_changes *changes, int64_t now_us, bool waits);
