/*
 * A pool that is drained: its replicas are replaced on other pools, one by one
 * (reconcile_replacement.c), and the progress of that, in bytes of their files as reported by
 * their nodes.
 */
#pragma once

#include "declared/replica_pool.h"

struct pool_drain {
    int64_t replicas;         /* on the pool yet, also those being deleted */
    int64_t left_bytes;       /* not copied yet */
    int64_t moved_bytes;      /* since the drain began, including running copies; -1: unknown */
    int64_t bytes_per_second; /* in that time; 0: none, or unknown */
    int64_t remaining_s;      /* at that rate; -1: unknown */
};

/* Begins or ends a drain; at its end the remaining replicas stay. */
int pool_drain_set(struct work *work, const struct replica_pool *pool, bool draining,
                   struct error *err);
/* The progress of a drained pool. */
int pool_drain_read(struct work *work, const struct replica_pool *pool, struct pool_drain *ret,
                    struct error *err);
