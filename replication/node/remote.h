/*
 * Volumes with replicas on several nodes: the service through which other nodes access replicas of
 * this one (replica_service.h), and the client through which targets of this node access replicas
 * of others (replica_client.h), with one certificate for both.
 */
#pragma once

#include "config/config.h"
#include "replication/engine/replica_access.h"
#include "replication/node/client_exports.h"
#include "replication/node/pools.h"
#include "replication/node/sessions.h"

struct remote;

struct remote_settings { /* referenced objects outlive it */
    const struct config *config;
    const char *run_directory;
    struct client api;
    struct health_probes *health_probes;
};

/* Reads section storage, without starting the service. */
int remote_open(const struct remote_settings *settings, struct remote **ret, struct error *err);
/* Starts the service for these pools, if [storage] listen is configured. */
int remote_serve(struct remote *remote, const struct pool_settings *pools, unsigned count,
                 struct error *err);
/* Ends calls of this node; those of others are answered until remote_close().  NULL is fine. */
void remote_end_calls(struct remote *remote);
/* Waits at most `ms`; false: a pool is unresponsive, and its memory is kept.  NULL is fine. */
bool remote_close(struct remote *remote, int64_t ms);

/* All replicas assigned to this node. */
void remote_set(struct remote *remote, struct assignment *const *assignments, unsigned count);

/* host:port of this node's replicas for other nodes; NULL: none. */
const char *remote_address(const struct remote *remote);
/* Of client exports; NULL: none. */
const struct client_exports_settings *remote_client_exports(const struct remote *remote);
struct sessions *remote_sessions(const struct remote *remote);
const struct replica_access *remote_access(const struct remote *remote);
const char *remote_tls_directory(const struct remote *remote); /* NULL: none */
