/*
 * Pools of replicas, as registered with the volume API (volumes_client()). Failures as in client.h.
 */
#pragma once

#include "client/client.h"

struct remote_replica_pool {
    const char *name, *node;
    const char *path;     /* absolute, on the node */
    const char *address;  /* where other nodes reach its replicas; NULL: nowhere */
    const json_t *labels; /* an object */
    bool read_only;
    int64_t total_bytes, free_bytes;
    const char *state;
    bool up; /* as reported by the API */
};

/* Heartbeat with the pool's status.  ERROR_CONFLICT: another node's pool with this name is up. */
int replica_pools_report(const struct client *api, struct arena *arena,
                         const struct remote_replica_pool *pool, struct error *err);
/* All pools: their number, with the members for placement.  An API without pools: 0. -1. */
int replica_pools_list(const struct client *api, struct arena *arena,
                       struct remote_replica_pool **ret, struct error *err);
/* Its replicas are to be moved to other pools, or not. */
int replica_pools_drain(const struct client *api, struct arena *arena, const char *name,
                        bool draining, struct error *err);
/* Progress of a drain.  -1: unknown, or an older API does not have the figure. */
struct remote_pool_drain {
    int64_t replicas, left_bytes, moved_bytes, bytes_per_second, remaining_s;
};

/* 1: the progress is in *ret; 0: the pool is not draining; -1. */
int replica_pools_drained(const struct client *api, struct arena *arena, const char *name,
                          struct remote_pool_drain *ret, struct error *err);
/* Was it ever registered?  1, 0, -1. */
int replica_pools_knows(const struct client *api, struct arena *arena, const char *name,
                        struct error *err);
