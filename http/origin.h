/*
 * Protection from web pages in the user's browser (CSRF, DNS rebinding). Without identity every
 * client is trusted, and only this machine can connect; but so can each page in a browser on it.
 * Such a page has another origin (Origin, Sec-Fetch-Site), or its own name resolves to this service
 * (Host). A page cannot change the meaning of a numeric address, so these are accepted.
 */
#pragma once

#include "http/exchange.h"

struct http_origin {
    const char *const *names; /* host names of the service beside localhost; ended with NULL */
    bool any_host;            /* the service has names that are not configured */
};

/* NULL, or why the origin of the request is refused. */
const char *http_origin_fault(const struct http_exchange *exchange,
                              const struct http_origin *origin);

/* The host of "host", "host:port", "[address]:port" or a URL with one of these; in the arena. */
const char *http_origin_host(struct arena *arena, const char *text);
