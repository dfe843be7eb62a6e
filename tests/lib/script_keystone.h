/*
 * A scripted Keystone: its version document, tokens of the service's own user, and its responses
 * about other tokens.
 */
#pragma once

#include "tests/lib/script_server.h"

#include <stddef.h>
#include <stdint.h>

#define KEYSTONE_TOKENS "/v3/auth/tokens"
#define KEYSTONE_OWN    "own-token"

/* Its response, with 404, about an invalid token. */
#define KEYSTONE_UNKNOWN                                                   \
    "{\"error\": {\"code\": 404, \"message\": \"Could not find token.\", " \
    "\"title\": \"Not Found\"}}"

/* "/v3" leads to the version; POST gives KEYSTONE_OWN for an hour, with a catalog whose volumev3
 * and compute endpoints are <url>/volume/v3 and <url>/compute/v2.1. */
void script_keystone_begin(struct script_server *server);
/* Each token that is queried from now on; `times` as in a rule. */
void script_keystone_answer(struct script_server *server, int status, const char *body,
                            unsigned times);
/* ISO time so many seconds from now; in a ring of a few buffers. */
const char *script_keystone_time(int64_t seconds);
/* Body of a good token: roles as JSON strings, "\"member\", \"reader\"", other members or "". */
const char *script_keystone_token(const char *roles, int64_t seconds, const char *more);
