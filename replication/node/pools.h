/*
 * The pools of this node.  Each has a thread that reads its status, sends heartbeats to the API and
 * reconciles its replicas (replicas.h).  A pool that blocks its thread delays no other one and
 * sends no heartbeats.
 *
 * A directory becomes a pool when it is empty and the API does not know a pool of this name, or
 * when it has an empty mark put there by an operator (pool_status.h).  A pool locked by another
 * agent (pool_lock.h) is neither changed nor reported.
 */
#pragma once

#include "replication/node/replicas.h"

struct pool_lock;
struct pools;

struct pool_settings {
    const char *name, *path;
    const json_t *labels;   /* an object */
    struct pool_lock *lock; /* kept by the pool's thread; NULL: none */
};

struct pools_settings { /* referenced objects outlive the pools */
    const struct pool_settings *pools;
    unsigned count;
    const char *node;
    struct client api;
    struct reports *reports;
    const char *address;                 /* of replicas of the pools for other nodes; NULL: none */
    struct sessions *sessions;           /* of other nodes; NULL: none */
    const char *run_directory;           /* of the node's storage daemons; NULL: none */
    struct health_probes *health_probes; /* NULL: pools are not probed */
    int64_t heartbeat_ms;                /* 0: 10 000 */
    int64_t check_ms;                    /* 0: 1 000 */
};

int pools_start(const struct pools_settings *settings, struct pools **ret, struct error *err);
/* All replicas assigned to this node. */
void pools_set(struct pools *pools, struct assignment *const *assignments, unsigned count);
/* Waits at most `ms`; false: a pool is unresponsive, and its memory is kept.  NULL is fine. */
bool pools_stop(struct pools *pools, int64_t ms);
