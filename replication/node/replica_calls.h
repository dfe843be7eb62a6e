/*
 * The calls of the replica service, each a row: its fields, its effect on the replica and its
 * response.  The client is replica_client.c.
 */
#pragma once

#include "replication/node/sessions.h"
#include "json/json.h"
#include "json/out.h"

struct replica_call_body {
    const char *volume, *state, *before_nonce, *nonce;
    int64_t epoch, maximum_bytes, at, end, count, before_generation, generation;
};

struct replica_call_request {
    struct arena *arena;
    struct sessions *sessions;
    struct replica replica;
    const char *pool, *volume; /* from its document */
    const char *client;        /* identity of the caller (http_exchange.client) */
    bool deleting;             /* the replica is being deleted */
    struct replica_call_body body;
    struct json_out *out; /* members of the response */
};

struct replica_call {
    const char *name;
    const struct field *fields;
    int (*run)(struct replica_call_request *request, struct error *err);
};

/* NULL: unknown. */
const struct replica_call *replica_call_find(const char *name);

/* An unknown text is "failing". */
enum replica_health replica_health_of(const char *text);
