/*
 * Calls to other services (compute, our own API, Keystone) with libcurl: total and connect timeouts
 * always, no redirects, bounded answer.  Blocks the calling thread; thread-safe; connections are
 * kept per thread.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"
#include "common/http_server.h"

#include <stdint.h>

struct http_call {
    const char *method;
    const char *url;
    const struct http_header *headers; /* ended with a NULL name; may be NULL */
    const char *body;                  /* NULL: none; sent as application/json */
    int64_t timeout_ms;                /* 0: 30 000 */
};

struct http_answer {
    int status;
    char *body; /* ended with '\0' */
    size_t body_size;
};

/* Outcomes beside 0 (an HTTP answer of any status came). */
enum {
    HTTP_NOT_SENT = -1, /* nothing reached the peer (name, route, refused, TLS): err says why */
    HTTP_NO_ANSWER = 1, /* the request may have arrived, no whole answer came: err says why */
};

int http_call(struct arena *arena, const struct http_call *call, struct http_answer *ret,
              struct error *err);
