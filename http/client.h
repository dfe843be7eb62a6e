/*
 * Calls to other services (compute, our own API, Keystone) with libcurl: total and connect timeouts
 * always, no redirects, bounded answer.  Blocks the calling thread; thread-safe; connections are
 * kept per thread.
 *
 * A Unix socket is called by "http+unix://%2Frun%2Fscoria%2Fapi.sock/v3" (or https+unix): its path,
 * with slashes as %2F, stands for the host.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"
#include "http/exchange.h"

#include <stdbool.h>
#include <stdint.h>

/* How a peer is reached and trusted; what is NULL is as the system has it. */
struct http_peer {
    const char *ca_file;              /* whose certificates are trusted */
    const char *cert_file, *key_file; /* ours, shown when asked for; key_file NULL: in cert_file */
    bool insecure;                    /* the peer's certificate is not looked at */
    int64_t connect_timeout_ms;       /* 0: 5 000 */
};

/* A line of an answer as it comes, without its end; false: it is enough. */
typedef bool http_line(void *arg, const char *line, size_t size);

/* An answer that comes line by line and may last. */
struct http_lines {
    http_line *each;
    void *arg;
    size_t most;      /* a longer line ends the call */
    int64_t quiet_ms; /* who says nothing for so long has gone; whole seconds */
};

struct http_call {
    const char *method;
    const char *url;
    const struct http_header *headers; /* ended with a NULL name; may be NULL */
    const char *body;                  /* NULL: none; sent as application/json */
    int64_t timeout_ms;                /* 0: 30 000; for all that is sent */
    /* How often it is sent again, after pauses that double and not before the peer's Retry-After,
     * when it certainly never arrived; if it is safe to come twice, also when there was no answer,
     * or 408, 425, 429, 502, 503 or 504. */
    unsigned repeats;
    bool safe;
    const struct http_peer *peer; /* NULL: all as usual */
    /* Instant of the monotonic clock that ends the call within a second, also when another thread
     * sets it meanwhile (atomically); NULL, or 0: none. */
    const int64_t *until_us;
    const char *wanted_header; /* of the answer; NULL: none */
    /* Each line of a 2xx answer goes there, and none is kept.  A last line without its end is none.
     * NULL: an answer is kept whole. */
    const struct http_lines *lines;
};

struct http_answer {
    const char *url; /* the call's */
    int status;
    char *body; /* ended with '\0' */
    size_t body_size;
    const char *header;    /* value of the one that was wanted; NULL: it did not come */
    int64_t retry_after_s; /* what Retry-After says; 0: nothing */
};

/* Outcomes beside 0 (an HTTP answer of any status came). */
enum {
    HTTP_NOT_SENT = -1, /* nothing reached the peer (name, route, refused, TLS): err says why */
    HTTP_NO_ANSWER = 1, /* the request may have arrived, no whole answer came: err says why */
    HTTP_TOO_LARGE = 2, /* the same: it is larger than any that is read */
};

int http_call(struct arena *arena, const struct http_call *call, struct http_answer *ret,
              struct error *err);
