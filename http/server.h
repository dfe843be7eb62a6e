/*
 * The HTTP server of the API and of the agents: libmicrohttpd with epoll and a small thread pool;
 * limits on bodies, headers and slow clients (reading a whole response may last twice the idle
 * timeout), eviction for new clients (eviction.private.h), drain at the end.
 */
#pragma once

#include "common/error.h"
#include "http/exchange.h"
#include "http/unix_socket.h"

struct http_mount {
    const char *prefix; /* "" for everything, "/compute" for paths at or below it; longest wins */
    http_handler *handler;
    void *arg;
};

struct http_server_settings {
    const char *address;             /* numeric IPv4 or IPv6, a name, or unix:PATH */
    const char *option;              /* that has the address, for errors; NULL: not named */
    unsigned port;                   /* 0: any free one */
    struct unix_socket_access file;  /* of a Unix socket */
    unsigned threads;                /* 0: one for each processor, two at least */
    size_t body_limit;               /* bytes; 0: 114688 */
    unsigned idle_seconds;           /* idle timeout of a connection; 0: 60 */
    unsigned request_seconds;        /* for a handshake and a whole request; 0: 30 */
    unsigned connections;            /* limit, if there are enough descriptors; 0: 1000 */
    unsigned address_connections;    /* limit by address; 0: the total limit */
    size_t answer_bytes;             /* of waiting responses; 0: 64 MiB */
    const char *cert_file;           /* PEM, with the chain; NULL: no TLS */
    const char *key_file;            /* PEM; NULL: in cert_file */
    const char *ca_file;             /* PEM; not NULL: clients need a certificate of one of these
                                      * authorities */
    const char *crl_file;            /* PEM; not NULL: and not on these lists, read again when they
                                      * change.  With ca_file */
    const char *priorities;          /* of GnuTLS, without versions below 1.2; NULL: 1.2 and 1.3 */
    const struct http_mount *mounts; /* ended with a NULL handler; copied */
};

struct http_server;

int http_server_start(const struct http_server_settings *settings, struct http_server **ret,
                      struct error *err);
unsigned http_server_port(const struct http_server *server); /* of a Unix socket: 0 */
/* Stops accepting, waits up to `drain_ms` for open exchanges, ends.  NULL is fine. */
void http_server_stop(struct http_server *server, unsigned drain_ms);
