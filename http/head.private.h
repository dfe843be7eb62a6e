/*
 * Rejects request heads that proxies and the service may read differently (request smuggling).
 * libmicrohttpd is lenient where a proxy is not, and a request could be hidden in another.
 *
 * 0.9.75 accepts: two Content-Length or one beside Transfer-Encoding (the latter wins, the first of
 * its kind counts), every other coding than "chunked" (it waits for the end of the connection),
 * blanks before a colon, lone CR and LF, NUL (the rest of the line is lost), folded lines (the
 * continuation is appended to the *name*), several Hosts.  Lost bytes are detected by their space:
 * 0.9 splits the head in place, so that only a colon, blanks and CRLF may stand between two names
 * and values.  1.0 refuses all this by itself, except for the fields checked here.
 *
 * A length that is malformed or too large is hidden by 0.9: see refusal.private.h.
 */
#pragma once

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>

/* As libmicrohttpd passes them to the handler of requests. */
struct http_head {
    struct MHD_Connection *mhd;
    const char *method, *url, *version;
    size_t target; /* length of the text between method and version */
};

/* Does this libmicrohttpd split the head in place?  Then its own strict mode, which closes the
 * connection or sends 400 twice, is not needed. */
bool http_head_lies_as_sent(void);

/* NULL, or why the request is malformed.  *ret_chunked: its body is chunked. */
const char *http_head_fault(const struct http_head *head, bool *ret_chunked);
