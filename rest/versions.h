/*
 * Microversions: negotiation with the client, and the version document.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"
#include "http/exchange.h"

#define VERSION_HEADER "OpenStack-API-Version"

struct version {
    unsigned minor;   /* 3.minor */
    const char *echo; /* value of the response's header; NULL: none */
};

/*
 * Parses the header's value; NULL means 3.0. On ERROR_BAD_REQUEST ret->echo is NULL; on
 * ERROR_NOT_ACCEPTABLE (an unsupported version) it is the requested one, except for 1.0 and 2.0.
 */
int version_negotiate(struct arena *arena, const char *header, struct version *ret,
                      struct error *err);

/* The response of "/" (300) and "/v3/" (200). */
void version_render(struct http_exchange *exchange, const char *base_url, int status);
