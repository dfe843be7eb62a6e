/*
 * Access to replicas of other nodes (replication/engine/replica_access.h) through their replica
 * services (replica_service.h), with a timeout for each call.
 */
#pragma once

#include "replication/engine/replica_access.h"

struct replica_client;

struct replica_client_settings { /* referenced objects outlive it */
    const char *cert_file, *key_file, *ca_file;
    bool plain;              /* without TLS, for tests */
    int64_t timeout_ms;      /* of a short call; 0: 5 000 */
    const int64_t *until_us; /* end of all calls, as in struct http_call */
};

struct replica_client *replica_client_new(const struct replica_client_settings *settings);
void replica_client_free(struct replica_client *client); /* NULL is fine */
/* For struct replica; its address is "host:port". */
const struct replica_access *replica_client_access(const struct replica_client *client);
