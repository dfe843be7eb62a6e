/*
 * A request with a body of any length, or with such a response, whose bytes are passed in pieces
 * and in order: download.h, upload.h.  As with client.h: no redirects, a peer and its trust.
 *
 * Every call ends in time: after `timeout_ms` without all its bytes it fails with
 * ERROR_UNAVAILABLE, and so it does when the connection breaks.  A response other than 2xx has the
 * kind of its status: 408, 429 and 5xx ERROR_UNAVAILABLE; a redirect, a conflict or a bad request
 * ERROR_BACKEND, as it is none of this service.  After a failure the transfer can only be closed.
 * One thread at a time uses it; it takes less than 1 MiB of memory.
 */
#pragma once

#include "http/client.h"

/* All text stays the caller's, and valid until the transfer is closed. */
struct http_transfer_call {
    const char *url;
    const struct http_header *headers; /* ended with a NULL name; may be NULL */
    const struct http_peer *peer;      /* NULL: defaults */
    int64_t timeout_ms;
    /* About once a second while a call waits: -1 ends it with that error.  NULL: not at all. */
    int (*may)(void *arg, struct error *err);
    void *arg;
};
