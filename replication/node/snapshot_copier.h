/*
 * Copies snapshots into a pool, one at a time, each in a thread of its own, so that the pool is
 * monitored meanwhile.
 *
 * Belongs to the thread of the pool.
 */
#pragma once

#include "replication/engine/generation.h"
#include "replication/engine/replica.h"

#include <stdbool.h>

struct snapshot_copier;

struct copy { /* its texts are copied */
    struct replica source;
    const char *snapshot;
    struct replica target;
    /* Of a clone: its volume and first generation.  NULL: the snapshot itself is copied. */
    const char *volume;
    int64_t maximum_bytes;
    const struct generation *first;
};

struct snapshot_copier *snapshot_copier_new(void);
/* After snapshot_copier_end(); NULL is fine. */
void snapshot_copier_free(struct snapshot_copier *copier);

/* 1: this copy or another one is running, to be called again; 0: complete; -1: it failed, and is
 * retried after a pause. */
int snapshot_copier_run(struct snapshot_copier *copier, const struct copy *copy, struct error *err);
/* Is that replica being created as a clone? */
bool snapshot_copier_clones(const struct snapshot_copier *copier, const char *replica);

struct snapshot_copy_progress {
    const char *snapshot; /* the copied one; valid until the next call */
    bool is_clone;        /* copied to the data of the replica, not to a snapshot of it */
    int64_t done_bytes, total_bytes;
};

/* Progress of a copy to that replica; false: none is copying. */
bool snapshot_copier_progress(const struct snapshot_copier *copier, const char *replica,
                              struct snapshot_copy_progress *ret);
/* When this returns no copy writes beside that replica, or to that snapshot of it; NULL: to any. */
void snapshot_copier_stop(struct snapshot_copier *copier, const char *replica,
                          const char *snapshot);
/* Cancels and forgets the running copy. */
void snapshot_copier_end(struct snapshot_copier *copier);
