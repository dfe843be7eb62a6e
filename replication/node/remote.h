/*
 * The agent's part in volumes whose replicas are on several nodes: the service by which others use
 * replicas of this node (replica_service.h), and the client by which targets of this node use those
 * of others (replica_client.h), with one certificate for both.
 */
#pragma once

#include "config/config.h"
#include "replication/engine/replica_access.h"
#include "replication/node/client_exports.h"
#include "replication/node/pools.h"
#include "replication/node/sessions.h"

struct remote;

struct remote_settings { /* what they point to outlives it */
    const struct config *config;
    const char *run_directory;
    struct client api;
    struct health_probes *health_probes;
};

/* Reads section storage; nothing is served yet. */
int remote_open(const struct remote_settings *settings, struct remote **ret, struct error *err);
/* Begins to serve replicas of these pools, if section storage says where. */
int remote_serve(struct remote *remote, const struct pool_settings *pools, unsigned count,
                 struct error *err);
/* Of ours: those of others are answered until remote_close().  NULL is fine. */
void remote_end_calls(struct remote *remote);
/* Within `ms`; false: a pool hangs, and what it uses is left.  NULL is fine. */
bool remote_close(struct remote *remote, int64_t ms);

/* All replicas that are wanted on this node. */
void remote_set(struct remote *remote, struct assignment *const *assignments, unsigned count);

/* Where other nodes reach replicas of this one, host:port; NULL: nowhere. */
const char *remote_address(const struct remote *remote);
/* Who else is let in to volumes that are served here; NULL: nobody. */
const struct client_exports_settings *remote_client_exports(const struct remote *remote);
struct sessions *remote_sessions(const struct remote *remote);
const struct replica_access *remote_access(const struct remote *remote);
const char *remote_tls_directory(const struct remote *remote); /* NULL: there is none */
