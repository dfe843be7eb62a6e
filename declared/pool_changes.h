/*
 * Changes of pools since they were last read, in the properties that settled configs and configs
 * waiting for a pool depend on. Belongs to one thread.
 *
 * A storage agent that keeps changing the reported state of its pool causes POOL_CHANGES_MOST
 * evaluations of its configs in POOL_CHANGES_US; later changes wait for the next resync or the end
 * of that time.
 */
#pragma once

#include "declared/replica_pool.h"

#define POOL_CHANGES_US   (30 * SECOND_US)
#define POOL_CHANGES_MOST 3

struct pool_changes;

/* A pool, its previous and its current node; valid until the next call of a function here. */
struct pool_change {
    const char *pool, *node, *old_node;
};

struct pool_changes *pool_changes_new(void);
void pool_changes_free(struct pool_changes *changes);

/* Notes the current state of all pools. */
void pool_changes_note(struct pool_changes *changes, const struct replica_pool *pools,
                       unsigned count);
/* These pools are as they were last noted: a later change will be found. */
bool pool_changes_know(const struct pool_changes *changes, const struct replica_pool *pools,
                       unsigned count);
/* The next changed pool, which is processed from then on. `all`: regardless of its rate. */
bool pool_changes_take(struct pool_changes *changes, int64_t now_us, bool all,
                       struct pool_change *ret);
/* The set of pools that accept replicas has changed, and that is processed from then on. `waits`:
 * some config waits for a pool; otherwise there is nothing to process. */
bool pool_changes_take_accepting(struct pool_changes *changes, int64_t now_us, bool waits);
