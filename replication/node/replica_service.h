/*
 * Access of targets of other nodes to replicas of this one (replication/engine/replica_access.h),
 * over HTTP with TLS and certificates of both sides:
 *
 *   POST /v1/replicas/UID/CALL   {"epoch": …, …}  →  200 {…}, or {"kind": …, "message": …}
 *
 * A replica is identified by its uid only; its pool comes from the documents of the API
 * (replica_index.h), and only a pool with its mark is accessed.  Calls of one replica run one after
 * the other; each pool has threads of its own, so that an unresponsive one delays no other.
 */
#pragma once

#include "http/server.h"
#include "replication/node/pools.h"
#include "replication/node/replica_index.h"
#include "replication/node/sessions.h"

struct replica_service;

struct replica_service_settings { /* referenced objects outlive it */
    struct replica_index *replica_index;
    struct sessions *sessions;
    struct health_probes *health_probes; /* NULL: pools are not probed */
    const struct pool_settings *pools;
    unsigned pool_count;
    const char *address;
    unsigned port;                              /* 0: any free one */
    const char *cert_file, *key_file, *ca_file; /* NULL: no TLS, for tests */
    const char *crl_file;                       /* NULL: none */
};

int replica_service_start(const struct replica_service_settings *settings,
                          struct replica_service **ret, struct error *err);
unsigned replica_service_port(const struct replica_service *service);
/* Waits at most `ms`; false: a pool is unresponsive, and its memory is kept.  NULL is fine. */
bool replica_service_stop(struct replica_service *service, int64_t ms);
