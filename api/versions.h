/*
 * Microversions: what the client asks for, and the document that says what we have.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"
#include "http/exchange.h"

#define VERSION_HEADER "OpenStack-API-Version"

struct version {
    unsigned minor;   /* 3.minor */
    const char *echo; /* value of the answer's header; NULL: none */
};

/*
 * Reads the header's value; NULL means 3.0.  On ERROR_BAD_REQUEST ret->echo is NULL; on
 * ERROR_NOT_ACCEPTABLE (a version that we do not have) it is the asked one, but for 1.0 and 2.0.
 */
int version_negotiate(struct arena *arena, const char *header, struct version *ret,
                      struct error *err);

/* Makes the answer of "/" (300) and "/v3/" (200). */
void version_render(struct http_exchange *exchange, const char *base_url, int status);
