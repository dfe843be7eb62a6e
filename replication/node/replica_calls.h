/*
 * The calls of the replica service, each a row: what a request says, what is done with the replica,
 * and what is answered.  The other end is replica_client.c.
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
    const char *pool, *volume; /* as its document says */
    const char *client;        /* who asks (http_exchange.client) */
    bool deleting;             /* it is being deleted */
    struct replica_call_body body;
    struct json_out *out; /* members of the answer */
};

struct replica_call {
    const char *name;
    const struct field *fields;
    int (*run)(struct replica_call_request *request, struct error *err);
};

/* NULL: there is none. */
const struct replica_call *replica_call_find(const char *name);

/* A word for each health, and back; "failing" is what no word is. */
const char *replica_health_text(enum replica_health health);
enum replica_health replica_health_of(const char *text);
