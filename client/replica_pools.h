/*
 * The places for replicas' files, as the volume API (volumes_client()) keeps them.  Failures are
 * client.h's.
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
    bool up; /* as the API says */
};

/* A sign of life, and how it is.  ERROR_CONFLICT: another node's that is up has this name. */
int replica_pools_report(const struct client *api, struct arena *arena,
                         const struct remote_replica_pool *pool, struct error *err);
/* All there are: how many; what matters to who looks for room.  API without any: 0.  -1. */
int replica_pools_list(const struct client *api, struct arena *arena,
                       struct remote_replica_pool **ret, struct error *err);
/* Has it ever been reported?  1, 0, -1. */
/* Its replicas are to go to other pools, or stay. */
int replica_pools_drain(const struct client *api, struct arena *arena, const char *name,
                        bool draining, struct error *err);
/* How many replicas one has that is drained; -1: it is not drained, or err says why it is not known
 * (its kind is ERROR_NONE otherwise). */
int64_t replica_pools_left(const struct client *api, struct arena *arena, const char *name,
                           struct error *err);
int replica_pools_knows(const struct client *api, struct arena *arena, const char *name,
                        struct error *err);
