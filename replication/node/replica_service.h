/*
 * What targets of other nodes do with replicas of this one (replication/engine/replica_access.h),
 * over HTTP with TLS in which both sides show certificates:
 *
 *   POST /v1/replicas/UID/CALL   {"epoch": …, …}  →  200 {…}, or {"kind": …, "message": …}
 *
 * A replica is named by its uid alone: where it is the documents of the API say (replica_index.h),
 * and only in a pool with its mark is anything done.  Calls of one replica come one after the
 * other; each pool has threads of its own, so that one that hangs holds up no other.
 */
#pragma once

#include "http/server.h"
#include "replication/node/pools.h"
#include "replication/node/replica_index.h"
#include "replication/node/sessions.h"

struct replica_service;

struct replica_service_settings { /* what they point to outlives it */
    struct replica_index *replica_index;
    struct sessions *sessions;
    struct health_probes *health_probes; /* NULL: nobody asks whether pools answer */
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
/* Within `ms`; false: a pool hangs, and what it uses is left.  NULL is fine. */
bool replica_service_stop(struct replica_service *service, int64_t ms);
