/*
 * A gRPC server on a Unix socket: unary calls over HTTP/2 without TLS.
 *
 * One thread does the I/O of all connections and never blocks otherwise; a fixed pool of threads
 * unpacks requests, runs handlers (call.h) and packs their responses.
 *
 * Clients are local processes, and still limited: connections, concurrent calls, sizes of headers
 * and messages, buffered bytes in either direction, frames without effect, resets, and the time to
 * send a request and to read a response.
 */
#pragma once

#include "grpc/call.h"
#include "http/unix_socket.h"

struct grpc_server;

/* Members that are 0 have the default given beside them. */
struct grpc_server_settings {
    const char *endpoint; /* unix:///PATH, unix:/PATH or /PATH; at most 107 bytes of path */
    const char *option;   /* that has the endpoint, for errors; NULL: not named */
    struct unix_socket_access file;
    const struct grpc_service *services; /* ended with a NULL descriptor; outlives the server */
    /* Paths of methods whose handlers never block, not even on locks: they run in the I/O thread.
     * Ended with NULL; NULL: none. */
    const char *const *quick;
    /* Paths of health checks, which must be answered while every worker is busy: they have threads
     * of their own.  As `quick`. */
    const char *const *ahead;
    unsigned workers;     /* 8 */
    unsigned connections; /* 128 */
    unsigned streams;     /* concurrent, of one connection: 64 */
    size_t message_limit; /* of a request: 256 KiB */
    size_t waiting_bytes; /* of all requests that are not whole, and again of all
                                            answers that are not taken: 32 MiB */
    int64_t request_ms;   /* for the first frame, and for a whole request: 30 000 */
    int64_t answer_ms;    /* for each started MiB of a response to be read: 30 000 */
};

/* -1: ERROR_BAD_REQUEST, also when another process listens there. */
int grpc_server_start(const struct grpc_server_settings *settings, struct grpc_server **ret,
                      struct error *err);

/* Accepts no more calls, removes the socket, and waits up to `grace_ms` for running calls; then
 * they are over (call.h), clients get UNAVAILABLE, and the handlers are awaited.  NULL is fine. */
void grpc_server_stop(struct grpc_server *server, int64_t grace_ms);
