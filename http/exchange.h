/*
 * One request and its response, as seen by a handler.
 *
 * A handler gets one exchange and must call http_reply() on it exactly once: before it returns, or
 * later and from any thread (the connection is suspended meanwhile). The exchange and its arena are
 * valid until the reply is sent, also when the server stops meanwhile: it answers the client with
 * 503, and headers are no longer found.  Bodies are complete before the handler is called; for a
 * body above the limit `too_large` is set and it has no bytes.
 *
 * A streamed response is started with http_stream_open() (stream.h) in place of http_reply().
 */
#pragma once

#include "common/arena.h"

#include <stdbool.h>
#include <stddef.h>

struct http_header {
    const char *name;
    const char *value;
};

#define HTTP_RESPONSE_HEADERS 8

struct http_stream;

struct http_exchange {
    struct arena *arena;
    const char *method;
    const char *path;  /* as sent, percent-encoded, without the query */
    const char *query; /* as sent, after '?', "" when there is none */
    const char *peer;  /* address of the client for the log */
    const char *body;  /* never NULL; body[body_size] is '\0' */
    size_t body_size;
    bool too_large; /* the body was above the limit and dropped */
    /* Not NULL: why the request is malformed.  The response is 400 for any path, and closes the
     * connection. */
    const char *malformed;
    /* All slots are taken and no connection could be evicted: the response is 503 unless it costs
     * nothing, and closes the connection. */
    bool over_limit;
    bool secure; /* TLS */
    const char
        *client; /* the name in the client's certificate (RFC 4514); NULL: none was required */

    /* The response; set before http_reply(). */
    int status;
    const char *reply_body; /* belongs to the arena, or static */
    size_t reply_size;
    /* Where the arena has reply_body, if that is of malloc(): the server may take it from there. */
    char **reply_heap;
    struct http_header reply_headers[HTTP_RESPONSE_HEADERS];
    unsigned reply_header_count;

    /* Set by a handler with a large response, which is refused while too many responses wait for
     * their clients: replaces it by a small one.  Called by the server before sending. */
    void (*refuse)(void *arg);
    void *refuse_arg;

    /* Access to headers and reply: set by the server, or by a test. */
    const char *(*find_header)(const struct http_exchange *exchange, const char *name);
    void (*send)(struct http_exchange *exchange);
    bool (*client_left)(const struct http_exchange *exchange); /* NULL: never */
    struct http_stream *(*open)(struct http_exchange *exchange);
    void *transport;
};

typedef void http_handler(void *arg, struct http_exchange *exchange);

static inline const char *http_header(const struct http_exchange *exchange, const char *name) {
    return exchange->find_header(exchange, name); /* name is case-insensitive; NULL when absent */
}

/* Adds a header to the response; name and value are kept by pointer.  Too many fail an
 * assertion. */
void http_add_header(struct http_exchange *exchange, const char *name, const char *value);

/* Sends the response.  The exchange must not be touched afterwards. */
static inline void http_reply(struct http_exchange *exchange) {
    exchange->send(exchange);
}

/* Has the client closed its sending side while the response is pending?  Most such clients have
 * gone; a few only send nothing more. */
static inline bool http_client_left(const struct http_exchange *exchange) {
    return exchange->client_left && exchange->client_left(exchange);
}

/* Percent-decodes into the arena ('+' is kept unless `form`); NULL when malformed, or for NUL and
 * bad UTF-8. */
char *http_decode(struct arena *arena, const char *text, size_t length, bool form);

/* Percent-encodes all but letters, digits and "-._~". */
const char *http_encode(struct arena *arena, const char *text);

/* Length of a URL, or path, without trailing slashes. */
size_t http_length(const char *url);
