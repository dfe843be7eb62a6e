/*
 * Without identity whoever reaches the service is believed, and only this machine reaches it; but
 * so does every page that a browser on it shows.  Such a page comes from somewhere else (Origin,
 * Sec-Fetch-Site), or it has bent a name of its own to our address (Host): both are seen here.  A
 * page cannot bend an address, so addresses are believed.
 */
#pragma once

#include "http/exchange.h"

struct http_origin {
    const char *const *names; /* of hosts that we are, beside localhost; ended with NULL */
    bool any_host;            /* we are reached by names that nobody has told us */
};

/* NULL, or why the request is not from here. */
const char *http_origin_fault(const struct http_exchange *exchange,
                              const struct http_origin *origin);

/* The host of "host", "host:port", "[address]:port" or a URL with one of these; in the arena. */
const char *http_origin_host(struct arena *arena, const char *text);
