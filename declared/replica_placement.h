/*
 * Choice of the pools for a volume's replicas: a function of the pools and a seed alone.
 */
#pragma once

#include "common/arena.h"
#include "declared/replica_pool.h"

#include <stdbool.h>
#include <stdint.h>

struct replica_placement {
    unsigned count;           /* of replicas, each on its own pool (P33) */
    int64_t bytes;            /* free space that each needs */
    const char *local_node;   /* its pools come first (P34); NULL: none */
    const char *const *named; /* these, in this order (P36); NULL: they are chosen */
    unsigned named_count;
    /* pools permitted for a clone: those of its source (P37); NULL: any */
    const char *const *of_source;
    unsigned source_count;
    const char *const *without; /* excluded pools */
    unsigned without_count;
    const char *const *nodes; /* of the volume's other replicas: used last, */
    unsigned node_count;
    bool apart;    /* or not at all */
    uint64_t seed; /* decides among equals (P38) */
};

/*
 * *ret: `count` pools, in the arena. Only pools that are up and accept writes are used (P35),
 * first those on nodes without a replica, then those with more free GiB. ERROR_UNAVAILABLE: too
 * few, with both counts; ERROR_BAD_REQUEST: the number of named pools is not that of the replicas.
 */
int replica_placement_choose(struct arena *arena, const struct replica_placement *wanted,
                             const struct replica_pool *pools, unsigned pool_count,
                             const struct replica_pool **ret, struct error *err);

/* Why it cannot take `bytes` more; NULL: it can. */
const char *replica_placement_fault(const struct replica_pool *pool, int64_t bytes);
