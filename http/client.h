/*
 * Calls to other services (compute, the volume API, Keystone) with libcurl: total and connect
 * timeouts, no redirects, bounded response.  Blocks the calling thread; thread-safe; connections
 * are kept per thread.
 *
 * A Unix socket has the URL "http+unix://%2Frun%2Fscoria%2Fapi.sock/v3" (or https+unix): its path,
 * with slashes as %2F, replaces the host.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"
#include "http/exchange.h"
#include "http/handle.h"

#include <stdbool.h>
#include <stdint.h>

/* Receives a line of the response, without its end; false: close the connection. */
typedef bool http_line(void *arg, const char *line, size_t size);

/* A response read line by line, which may last. */
struct http_lines {
    http_line *each;
    void *arg;
    size_t most;      /* a longer line ends the call */
    int64_t quiet_ms; /* idle timeout of the peer; whole seconds */
};

struct http_call {
    const char *method;
    const char *url;
    const struct http_header *headers; /* ended with a NULL name; may be NULL */
    const char *body;                  /* NULL: none; sent as application/json */
    int64_t timeout_ms;                /* 0: 30 000; in total, including retries */
    /* Number of retries, after pauses that double and respect the peer's Retry-After, when the
     * request certainly did not arrive; if it may be repeated, also without a response, or after
     * 408, 425, 429, 502, 503 or 504. */
    unsigned repeats;
    bool safe;
    const struct http_peer *peer; /* NULL: defaults */
    /* Deadline of the monotonic clock, applied within a second, also when another thread sets it
     * meanwhile (atomically); NULL, or 0: none. */
    const int64_t *until_us;
    const char *wanted_header; /* of the response; NULL: none */
    /* Receives each line of a 2xx response, which is not kept.  An incomplete last line is dropped.
     * NULL: the response is kept. */
    const struct http_lines *lines;
    size_t answer_most; /* bytes of a response that is kept; 0: 16 MiB */
};

struct http_answer {
    const char *url; /* the call's */
    int status;
    char *body; /* ended with '\0' */
    size_t body_size;
    const char *header;    /* value of wanted_header; NULL: absent */
    int64_t retry_after_s; /* value of Retry-After; 0: absent */
};

/* Results beside 0 (a response with any status). */
enum {
    HTTP_NOT_SENT = -1, /* nothing reached the peer (name, route, refused, TLS): see err */
    HTTP_NO_ANSWER = 1, /* the request may have arrived, the response is missing or incomplete: see
                         * err */
    HTTP_TOO_LARGE = 2, /* as HTTP_NO_ANSWER: the response is above the limit */
};

int http_call(struct arena *arena, const struct http_call *call, struct http_answer *ret,
              struct error *err);
