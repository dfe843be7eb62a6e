/*
 * The pools of this node: each has a thread, which looks at it, tells the API that it is there, and
 * keeps its replicas (replicas.h).  A pool that hangs holds up only itself, and is told no more.
 *
 * A directory becomes a pool when it is empty and the API has never heard of a pool of this name,
 * or when an operator has put an empty mark into it (pool_status.h).  A pool whose lock another
 * agent has (pool_lock.h) is that agent's: nothing is done there or reported of it.
 */
#pragma once

#include "replication/node/replicas.h"

struct pool_lock;
struct pools;

struct pool_settings {
    const char *name, *path;
    const json_t *labels;   /* an object */
    struct pool_lock *lock; /* the pool thread keeps it; NULL: the pool is not locked */
};

struct pools_settings { /* what they point to outlives the pools */
    const struct pool_settings *pools;
    unsigned count;
    const char *node;
    struct client api;
    struct reports *reports;
    const char *address;       /* where other nodes reach replicas of the pools; NULL: nowhere */
    struct sessions *sessions; /* of other nodes; NULL: there are none */
    const char *run_directory; /* of the node's storage daemons; NULL: there are none */
    struct health_probes *health_probes; /* NULL: nobody asks whether a pool answers */
    int64_t heartbeat_ms;                /* 0: 10 000 */
    int64_t look_ms;                     /* 0: 1 000 */
};

int pools_start(const struct pools_settings *settings, struct pools **ret, struct error *err);
/* All replicas that are wanted on this node. */
void pools_set(struct pools *pools, struct assignment *const *assignments, unsigned count);
/* Within `ms`; false: a pool hangs, its thread and what it uses are left.  NULL is fine. */
bool pools_stop(struct pools *pools, int64_t ms);
