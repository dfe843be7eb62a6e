/*
 * Is the head of a request what everybody between the client and us takes it for?  libmicrohttpd is
 * lenient where a proxy in front may read something else, and a request could hide in another.
 *
 * 0.9.75 lets through: two Content-Length or one beside Transfer-Encoding (the latter wins, the
 * first of its kind counts), every other coding than "chunked" (it waits for the end of the connection),
 * blanks in front of a colon, lone CR and LF, NUL (what follows on the line is lost), folded lines
 * (the continuation is put behind the *name*), several Hosts.  What is lost while it reads is found
 * by the room that it takes: 0.9 cuts the head into names and values where it lies, so that nothing
 * but a colon, blanks and CRLF stands between two of them.  1.0 refuses all this by itself, but for
 * what is asked of the fields here.
 *
 * A length that is no number, or too large for one, 0.9 shows to nobody: see refusal.private.h.
 */
#pragma once

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>

/* As libmicrohttpd hands them to the handler of requests. */
struct http_head {
    struct MHD_Connection *mhd;
    const char *method, *url, *version;
    size_t target; /* length of what stood between method and version */
};

/* Does this libmicrohttpd leave the head where it lies?  Then it need not be strict itself, which
 * it is in a way of its own: it closes, or says 400 twice. */
bool http_head_lies_as_sent(void);

/* NULL, or why the request is none.  *ret_chunked: its body comes in pieces. */
const char *http_head_fault(const struct http_head *head, bool *ret_chunked);
