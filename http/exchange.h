/*
 * One request and its answer, as a handler sees them.
 *
 * A handler gets one exchange and must call http_reply() on it exactly once: before it returns, or
 * later and from any thread (the connection is suspended meanwhile).  The exchange, with its arena,
 * is alive until the reply is sent; also when the server stopped meanwhile, which answers the
 * client with 503 and finds no headers any more.  Bodies are read whole before the handler is
 * called; a body above the limit reaches the handler with `too_large` set and no bytes.
 *
 * An answer in pieces is begun with http_stream_open() (stream.h) in place of http_reply().
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
    const char *path;  /* as sent, still percent-encoded, without the query */
    const char *query; /* as sent, behind '?', "" when none */
    const char *peer;  /* address of the client for the log */
    const char *body;  /* never NULL; body[body_size] is '\0' */
    size_t body_size;
    bool too_large; /* the body was above the limit and thrown away */
    /* Not NULL: the request is malformed, and this is why.  The answer is 400, whatever the path
     * says, and the connection ends with it. */
    const char *malformed;
    /* There are more clients than places, and none that could go for this one: the answer is 503
     * unless it costs nothing, and the connection ends with it. */
    bool crowded;
    bool secure;        /* came over TLS */
    const char *client; /* the name of the certificate that it has shown (RFC 4514); NULL: none was
                         * asked for */

    /* The answer; set before http_reply(). */
    int status;
    const char *reply_body; /* belongs to the arena, or static */
    size_t reply_size;
    struct http_header reply_headers[HTTP_RESPONSE_HEADERS];
    unsigned reply_header_count;

    /* Set by a handler whose large answer may be turned down because too many wait for their
     * clients: makes it another, small one. Called by the server when the answer is to leave. */
    void (*refuse)(void *arg);
    void *refuse_arg;

    /* How headers are found and how the reply leaves: set by the server, or by a test. */
    const char *(*find_header)(const struct http_exchange *exchange, const char *name);
    void (*send)(struct http_exchange *exchange);
    bool (*client_left)(const struct http_exchange *exchange); /* NULL: it has not */
    struct http_stream *(*open)(struct http_exchange *exchange);
    void *transport;
};

typedef void http_handler(void *arg, struct http_exchange *exchange);

static inline const char *http_header(const struct http_exchange *exchange, const char *name) {
    return exchange->find_header(exchange, name); /* name is case-blind; NULL when absent */
}

/* Adds a header to the answer; name and value are kept by pointer. More than fit is a bug:
 * asserts. */
void http_add_header(struct http_exchange *exchange, const char *name, const char *value);

/* Sends the answer. The exchange must not be touched afterwards. */
static inline void http_reply(struct http_exchange *exchange) {
    exchange->send(exchange);
}

/* Has the client closed its side while its answer is awaited?  Most have gone then, and a few only
 * have nothing more to say. */
static inline bool http_client_left(const struct http_exchange *exchange) {
    return exchange->client_left && exchange->client_left(exchange);
}

/* Percent-decodes into the arena ('+' stays unless `form`); NULL when malformed, NUL or bad
 * UTF-8. */
char *http_decode(struct arena *arena, const char *text, size_t length, bool form);

/* Percent-encodes all but letters, digits and "-._~". */
const char *http_encode(struct arena *arena, const char *text);

/* Length of a URL, or path, without the slashes at its end. */
size_t http_length(const char *url);
