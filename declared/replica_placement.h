/*
 * Which pools a volume's replicas are put on: a function of the pools and a seed, and of nothing
 * else.
 */
#pragma once

#include "common/arena.h"
#include "declared/replica_pool.h"

#include <stdbool.h>
#include <stdint.h>

struct replica_placement {
    unsigned count;           /* of replicas, each on a pool of its own (P33) */
    int64_t bytes;            /* room that each has to have */
    const char *local_node;   /* whose pool comes first (P34); NULL: none */
    const char *const *named; /* these, and in this order (P36); NULL: they are chosen */
    unsigned named_count;
    const char *const *of_source; /* a clone goes only where its source is (P37); NULL: anywhere */
    unsigned source_count;
    const char *const *without; /* pools that are not used, whatever they have */
    unsigned without_count;
    const char *const *nodes; /* of the volume's other replicas: used last, */
    unsigned node_count;
    bool apart;    /* or not at all */
    uint64_t seed; /* decides among equals (P38) */
};

/*
 * *ret: `count` pools, in the arena.  Only those that are up and take writes are used (P35); of
 * these, pools of nodes that have no replica yet come first, then those with more GiB free.
 * ERROR_UNAVAILABLE: there are too few, and how many of how many; ERROR_BAD_REQUEST: other pools
 * are named than replicas are wanted.
 */
int replica_placement_choose(struct arena *arena, const struct replica_placement *wanted,
                             const struct replica_pool *pools, unsigned pool_count,
                             const struct replica_pool **ret, struct error *err);

/* Why it cannot take `bytes` more; NULL: it can. */
const char *replica_placement_fault(const struct replica_pool *pool, int64_t bytes);
