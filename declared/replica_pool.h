/*
 * Pools: storage for files of replicas. Each belongs to a node, which reports it periodically; a
 * pool that is not reported is offline. Rows instead of documents: a periodic report is no change
 * of a document.
 */
#pragma once

#include "operation/work.h"

#include <jansson.h>

#define REPLICA_POOL_NAME_MOST 63
#define REPLICA_POOL_NODE_MOST 255
#define REPLICA_POOL_ONLINE    "Online"

struct replica_pool {
    const char *id; /* its name, unique among all nodes */
    const char *node;
    const char *path;     /* absolute, on its node */
    const char *instance; /* of the agent that reports it; NULL: its version has none */
    const char *address;  /* host:port for replicas of other nodes; NULL: none */
    json_t *labels;
    bool read_only;
    bool draining;       /* its replicas are moved to others, and none is added */
    int64_t drain_us;    /* since then; -1: it is not draining, or unknown */
    int64_t drain_bytes; /* bytes of its replicas at that time */
    int64_t total_bytes, free_bytes;
    const char *state;  /* "Online", or another state reported by its node */
    int64_t seen_at;    /* wall clock */
    int64_t created_at; /* wall clock */
    int64_t unseen_us;  /* since its last report */
    bool up;            /* reported recently, */
    int64_t up_us;      /* and for so long without a gap */
    int64_t offline_us; /* since it was last reported Online */
};

/* Free space, as far as the condition NearFull depends on it: that begins at the last level and
 * ends at the first. */
enum replica_pool_space { SPACE_LEFT, SPACE_LITTLE, SPACE_NEAR_FULL };
enum replica_pool_space replica_pool_space(const struct replica_pool *pool);

/* It can be chosen for another replica. */
bool replica_pool_accepts_replicas(const struct replica_pool *pool);

/* A report of its node; *ret: as stored. ERROR_BAD_REQUEST; ERROR_CONFLICT: a pool of this name is
 * up on another node, or replica_pool_check_instance(). */
int replica_pool_report(struct work *work, const struct replica_pool *reported,
                        struct replica_pool *ret, struct error *err);
/* 1, or 0 when there is none. */
int replica_pool_find(struct work *work, const char *name, struct replica_pool *ret,
                      struct error *err);
/* Those of these names, in any order: their number. */
int replica_pools_named(struct work *work, const char *const *names, unsigned count,
                        struct replica_pool **ret, struct error *err);
/* All, by name: their number. */
int replica_pool_list(struct work *work, struct replica_pool **ret, struct error *err);
/* Time since the last report of any pool of the node: 1 in *ret_us; 0: it has none. */
int replica_pool_node_unseen_us(struct work *work, const char *node, int64_t *ret_us,
                                struct error *err);
/* 1: for so long that its pools count as down; 0: not, or it has none. */
int replica_pool_is_node_unresponsive(struct work *work, const char *node, struct error *err);
/* Of two agents with one node name the one that reports pools owns the node: ERROR_CONFLICT when a
 * pool of the node is up that another instance has reported. NULL: the agent has no instance. */
int replica_pool_check_instance(struct work *work, const char *node, const char *instance,
                                struct error *err);
/* Number of its replicas, also those being deleted. */
int replica_pool_replicas(struct work *work, const char *name, int64_t *ret, struct error *err);
/* For a pool that is no longer reported. ERROR_CONFLICT while it has replicas. */
int replica_pool_delete(struct work *work, const struct replica_pool *pool, struct error *err);
