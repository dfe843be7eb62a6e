/*
 * A gRPC server on a Unix socket: unary calls over HTTP/2 without TLS.
 *
 * One thread reads and writes for all connections and never waits for anything else; a fixed pool
 * of threads unpacks requests, runs handlers (call.h) and packs what they answer.
 *
 * Clients are the machine's own, and still none of them may take more than its share: connections,
 * calls at once, sizes of headers and messages, bytes that wait on either side, frames that ask for
 * nothing, resets, and the time in which a request must come and an answer be taken have limits.
 */
#pragma once

#include "grpc/call.h"
#include "http/unix_socket.h"

struct grpc_server;

/* What is 0 is as usual. */
struct grpc_server_settings {
    const char *endpoint; /* unix:///PATH, unix:/PATH or /PATH; at most 107 bytes of path */
    struct unix_socket_access file;
    const struct grpc_service
        *services; /* ended with a NULL descriptor; all of it outlives the server */
    /* Paths of methods whose handlers ask nobody and wait for nothing, locks included: the
     * thread that reads and writes for all connections runs them itself. Ended with NULL; NULL:
     * none. */
    const char *const *quick;
    /* Paths of methods that are asked whether all is well, and must be answered while every worker
     * is busy: they have threads of their own. As `quick`. */
    const char *const *ahead;
    unsigned workers;     /* 8 */
    unsigned connections; /* 128 */
    unsigned streams;     /* of one connection at once: 64 */
    size_t message_limit; /* of a request: 256 KiB */
    size_t waiting_bytes; /* of all requests that are not whole, and again of all
                                            answers that are not taken: 32 MiB */
    int64_t request_ms;   /* for the first frame, and for all of a request: 30 000 */
    int64_t answer_ms;    /* for each MiB that an answer begins, to be taken: 30 000 */
};

/* -1: ERROR_BAD_REQUEST, also when somebody else listens there. */
int grpc_server_start(const struct grpc_server_settings *settings, struct grpc_server **ret,
                      struct error *err);

/* Takes no more calls, removes the socket, and lets those that run end for `grace_ms`; then they
 * are over (call.h), whoever waits for them hears UNAVAILABLE, and the handlers are waited for.
 * NULL is fine. */
void grpc_server_stop(struct grpc_server *server, int64_t grace_ms);
