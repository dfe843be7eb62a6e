/*
 * The HTTP side of the API and of the compute agent: libmicrohttpd with epoll and a small pool of
 * threads, body limit, limits on headers and slow senders (the taking of a whole answer may last
 * twice the idle time), room for newcomers (crowd.h), drain at the end.
 *
 * A handler gets one exchange and must call http_reply() on it exactly once: before it returns, or
 * later and from any thread (the connection is suspended meanwhile).  The exchange, with its arena,
 * is alive until the reply is sent; also when the server stopped meanwhile, which answers the
 * client with 503 and finds no headers any more.  Bodies are read whole before the handler is
 * called; a body above the limit reaches the handler with `too_large` set and no bytes.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>

struct http_header {
    const char *name;
    const char *value;
};

#define HTTP_RESPONSE_HEADERS 8

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
    bool secure; /* came over TLS */

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

/* Percent-decodes into the arena ('+' stays unless `form`); NULL when malformed, NUL or bad
 * UTF-8. */
char *http_decode(struct arena *arena, const char *text, size_t length, bool form);

struct http_mount {
    const char *prefix; /* "" for everything, "/compute" for paths at or below it; longest wins */
    http_handler *handler;
    void *arg;
};

struct http_server_settings {
    const char *address;             /* numeric IPv4 or IPv6, or a name */
    unsigned port;                   /* 0: any free one */
    unsigned threads;                /* 0: one for each processor, two at least */
    size_t body_limit;               /* bytes; 0: 114688 */
    unsigned idle_seconds;           /* a connection silent for so long is closed; 0: 60 */
    unsigned request_seconds;        /* for a handshake and a whole request; 0: 30 */
    unsigned connections;            /* most at once, if there are descriptors for them; 0: 1000 */
    unsigned address_connections;    /* most at once from one address; 0: as many as there may be */
    size_t answer_bytes;             /* of answers that wait for their clients; 0: 64 MiB */
    const char *cert_file;           /* PEM, with the chain; NULL: no TLS */
    const char *key_file;            /* PEM; NULL: in cert_file */
    const char *ca_file;             /* PEM; not NULL: clients show a certificate of one of these */
    const char *priorities;          /* of GnuTLS, without versions below 1.2; NULL: 1.2 and 1.3 */
    const struct http_mount *mounts; /* ended with a NULL handler; copied */
};

struct http_server;

int http_server_start(const struct http_server_settings *settings, struct http_server **ret,
                      struct error *err);
unsigned http_server_port(const struct http_server *server);
/* Accepts nothing new, waits up to `drain_ms` for open exchanges, ends. */
void http_server_stop(struct http_server *server, unsigned drain_ms);
