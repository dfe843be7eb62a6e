/*
 * The supported microversions of the compute API, and its version documents.
 */
#pragma once

#include "common/error.h"
#include "http/exchange.h"

#define COMPUTE_LEAST  1  /* 2.1 */
#define COMPUTE_EXTEND 51 /* 2.51: volume-extended */
#define COMPUTE_NEWEST 93 /* 2.93: the last one that changes events */

struct compute_version {
    unsigned major, minor; /* as requested; 2.1 by default */
};

/*
 * Reads OpenStack-API-Version ("compute 2.51", perhaps among other services) or the older
 * X-OpenStack-Nova-API-Version, and adds the reply's headers with the version. -1:
 * ERROR_BAD_REQUEST for a malformed text, ERROR_NOT_ACCEPTABLE outside of the range.
 */
int versions_negotiate(struct http_exchange *exchange, struct compute_version *ret,
                       struct error *err);

/* GET /: all versions; GET /v2.1/: this one.  `own_url` is the agent's endpoint, …/v2.1. */
void versions_reply_list(struct http_exchange *exchange, const char *own_url);
void versions_reply_one(struct http_exchange *exchange, const char *own_url);
