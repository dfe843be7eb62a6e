/*
 * Who calls.  One engine is chosen at start: none (standalone, loopback only), later Keystone.
 */
#pragma once

#include "common/arena.h"
#include "common/http_server.h"
#include "common/option.h"
#include "policy/context.h"

struct policy;

enum identity_outcome {
    IDENTITY_FAILED = -1, /* err: ERROR_UNAUTHORIZED or ERROR_UNAVAILABLE */
    IDENTITY_KNOWN = 0,   /* the context is filled */
    /* status and headers of the exchange are the whole answer (noauth hand-shake) */
    IDENTITY_ANSWERED = 1
};

struct identity {
    const char *name;
    /* `path_project` is the project segment of the path or NULL. Fills user, project, roles; never
     * request ids. */
    enum identity_outcome (*authenticate)(const struct identity *identity,
                                          struct http_exchange *exchange, const char *path_project,
                                          struct context *context, struct error *err);
};

extern const struct identity identity_none;

/* "http://<Host>" as the client sees us; the usual port of the local machine when the header is
 * absent or holds what no host name, address or port does. No slash at the end; in the arena. */
const char *identity_base_url(struct http_exchange *exchange);

/* Option tables: [DEFAULT] auth_strategy. */
extern const struct option identity_options[];
