/*
 * A pool that is drained: its replicas are replaced on other pools, one by one
 * (reconcile_replacement.c), and the progress of that, in bytes of their files as reported by
 * their nodes.
 */
#pragma once

#include "declared/replica_pool.h"

struct pool_drain {
    int64_t replicas;         /* that it still has, also those whose data are to go */
    int64_t left_bytes;       /* of those that are not copied yet */
    int64_t moved_bytes;      /* since the drain began, copies that run included; -1: not known */
    int64_t bytes_per_second; /* in that time; 0: none, or not known */
    int64_t remaining_s;      /* at that rate; -1: not known */
};

/* Begins a drain, or ends it: its replicas stay then. */
int pool_drain_set(struct work *work, const struct replica_pool *pool, bool draining,
                   struct error *err);
/* Of one that is drained. */
int pool_drain_read(struct work *work, const struct replica_pool *pool, struct pool_drain *ret,
                    struct error *err);
