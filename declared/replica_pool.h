/*
 * Pools: places for files of replicas.  Each is its node's, which tells of it again and again; one
 * that is not told of is offline.  Rows and no documents: a sign of life is no change of anything.
 */
#pragma once

#include "ledger/work.h"

#include <jansson.h>

#define REPLICA_POOL_NAME_MOST 63
#define REPLICA_POOL_NODE_MOST 255
#define REPLICA_POOL_ONLINE    "Online"

struct replica_pool {
    const char *id; /* its name, among those of all nodes */
    const char *node;
    const char *path;     /* absolute, on its node */
    const char *instance; /* of the agent that reports it; NULL: its version has none */
    const char *address;  /* host:port, where other nodes reach its replicas; NULL: nowhere */
    json_t *labels;
    bool read_only;
    bool draining;       /* its replicas are to go to others, and none comes */
    int64_t drain_us;    /* for so long; -1: it is not, or that is not known */
    int64_t drain_bytes; /* what its replicas took then */
    int64_t total_bytes, free_bytes;
    const char *state;  /* "Online", or what its node says */
    int64_t seen_at;    /* shown */
    int64_t created_at; /* shown */
    int64_t unseen_us;  /* since it was seen */
    bool up;            /* seen lately, */
    int64_t up_us;      /* and for so long without a pause */
    int64_t offline_us; /* since it was last reported Online */
};

/* How much of it is free, as the condition NearFull of its volumes depends on it: that begins at
 * the last and ends at the first. */
enum replica_pool_space { SPACE_LEFT, SPACE_LITTLE, SPACE_NEAR_FULL };
enum replica_pool_space replica_pool_space(const struct replica_pool *pool);

/* It may be given another one. */
bool replica_pool_accepts_replicas(const struct replica_pool *pool);

/* What its node says of it, from now on; *ret: as it stands.  ERROR_BAD_REQUEST; ERROR_CONFLICT:
 * another node has one of this name that is up, or replica_pool_check_instance(). */
int replica_pool_report(struct work *work, const struct replica_pool *reported,
                        struct replica_pool *ret, struct error *err);
/* 1, or 0 when there is none. */
int replica_pool_find(struct work *work, const char *name, struct replica_pool *ret,
                      struct error *err);
/* Those of these names, in any order: how many. */
int replica_pools_named(struct work *work, const char *const *names, unsigned count,
                        struct replica_pool **ret, struct error *err);
/* All there are, by name: how many. */
int replica_pool_list(struct work *work, struct replica_pool **ret, struct error *err);
/* How long no pool of the node was told of: 1 in *ret_us; 0: it has none. */
int replica_pool_node_unseen_us(struct work *work, const char *node, int64_t *ret_us,
                                struct error *err);
/* 1: for so long that its pools count as down; 0: not, or it has none. */
int replica_pool_is_node_unresponsive(struct work *work, const char *node, struct error *err);
/* Of two agents with one node name the one that reports pools has the node: ERROR_CONFLICT when a
 * pool of the node is up that another instance has reported.  NULL: the agent has no instance. */
int replica_pool_check_instance(struct work *work, const char *node, const char *instance,
                                struct error *err);
/* How many replicas it has, also those whose data are to go. */
int replica_pool_replicas(struct work *work, const char *name, int64_t *ret, struct error *err);
/* Nobody tells of it any more.  ERROR_CONFLICT while it has replicas. */
int replica_pool_delete(struct work *work, const struct replica_pool *pool, struct error *err);
