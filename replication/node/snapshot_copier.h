/*
 * Copies of snapshots on their way into a pool: a thread of its own for each, so that the pool is
 * looked at meanwhile; one at a time.
 *
 * Belongs to the thread of the pool.
 */
#pragma once

#include "replication/engine/generation.h"
#include "replication/engine/replica.h"

#include <stdbool.h>

struct snapshot_copier;

struct copy { /* what it points to is copied */
    struct replica source;
    const char *snapshot;
    struct replica target;
    /* Of a clone: its volume, and the first generation.  NULL: the snapshot itself is copied. */
    const char *volume;
    int64_t maximum_bytes;
    const struct generation *first;
};

struct snapshot_copier *snapshot_copier_new(void);
void snapshot_copier_free(struct snapshot_copier *copier); /* after copies_end(); NULL is fine */

/* 1: under way, or another is: come again; 0: it is there; -1: it failed, and is not tried again
 * at once. */
int snapshot_copier_run(struct snapshot_copier *copier, const struct copy *assigned,
                        struct error *err);
/* Is that replica being made, as a clone? */
bool snapshot_copier_clones(const struct snapshot_copier *copier, const char *replica);

struct snapshot_copy_progress {
    const char *snapshot; /* that is copied; until the next call of anything here */
    bool is_clone;        /* to the data of the replica, not to a snapshot of it */
    int64_t done_bytes, total_bytes;
};

/* How far a copy to that replica is; false: none runs that copies bytes. */
bool snapshot_copier_progress(const struct snapshot_copier *copier, const char *replica,
                              struct snapshot_copy_progress *ret);
/* Nothing is written beside that replica, or to that snapshot of it, any more when this returns.
 * NULL: to any. */
void snapshot_copier_stop(struct snapshot_copier *copier, const char *replica,
                          const char *snapshot);
/* The one that is under way ends soon, and is forgotten. */
void snapshot_copier_end(struct snapshot_copier *copier);
