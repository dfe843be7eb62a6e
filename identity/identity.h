/*
 * Authentication of callers.  One engine is chosen at start: none (standalone, loopback only) or
 * Keystone.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"
#include "config/config.h"
#include "http/exchange.h"
#include "policy/context.h"

struct policy;
struct authtoken;

enum identity_outcome {
    IDENTITY_FAILED = -1, /* err: ERROR_UNAUTHORIZED or ERROR_TRY_LATER */
    IDENTITY_KNOWN = 0,   /* the context is filled */
    /* the exchange has the complete response (noauth handshake) */
    IDENTITY_ANSWERED = 1,
    /* `later` is called once from another thread, possibly already: what it can reach must not be
     * touched */
    IDENTITY_LATER = 2
};

/* Continuation of a request with a pending authentication; lives as long as the exchange.
 * `outcome` is KNOWN or FAILED. */
struct identity_later {
    void (*tell)(void *arg, enum identity_outcome outcome, const struct error *err);
    void *arg;
};

struct identity {
    const char *name;
    /* `path_project` is the project segment of the path or NULL. Fills user, project, roles; never
     * request ids.  With ERROR_UNAUTHORIZED it may have added a header to the response. */
    enum identity_outcome (*authenticate)(const struct identity *identity,
                                          struct http_exchange *exchange, const char *path_project,
                                          const struct identity_later *later,
                                          struct context *context, struct error *err);
};

extern const struct identity identity_none;

/* By [keystone_authtoken]; config and authtoken must outlive it. */
struct identity *identity_keystone_new(const struct config *config,
                                       const struct authtoken *authtoken);
void identity_keystone_free(struct identity *identity); /* NULL is fine */

/* "http://<Host>", or https, as the client reaches the service; the default port of the local
 * machine when the header is absent or not a host name, address or port.  Without trailing slash;
 * in the arena. */
const char *identity_base_url(struct http_exchange *exchange);

/* Option tables: [DEFAULT] auth_strategy. */
extern const struct option identity_options[];
