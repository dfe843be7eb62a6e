/*
 * What a gRPC service is to the transport: the calls that it answers, as rows of a table.
 *
 *     static int probe(struct grpc_call *call, const void *request, void *response,
 *                      struct error *err) {
 *         Csi__V1__ProbeResponse *answer = response;
 *
 *         answer->ready = …;               of call->arena
 *         return 0;
 *     }
 *
 *     static const struct grpc_method identity_methods[] = {
 *         { "Probe", probe },
 *         { 0 },
 *     };
 *
 *     { &csi__v1__identity__descriptor, identity_methods, driver }       a struct grpc_service
 *
 * Paths ("/csi.v1.Identity/Probe") and the messages' types are the descriptor's, which protoc-c
 * makes of the .proto file.  A method without a row is answered UNIMPLEMENTED.
 *
 * When a handler is called the request is whole and well-formed: it was unpacked, and every text in
 * it, however deep, is UTF-8 without a zero byte.  What the fields mean, and whether those that
 * must be there are, is the handler's matter.  Messages and texts are never NULL-checked by the
 * transport: a message that was not sent is NULL, a text that was not sent is "".
 */
#pragma once

#include "common/arena.h"
#include "common/clock.h"
#include "common/log.h"
#include "grpc/status.h"

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <sys/types.h>

struct worker_pool;

#define GRPC_REQUEST_ID_SIZE (sizeof("req-") - 1 + UUID_SIZE)

struct grpc_call {
    struct arena *arena; /* request and response live in it; freed when the response is packed */
    void *service;       /* the service's `arg` */
    const char *path;    /* "/csi.v1.Identity/Probe" */
    /* "req-…", new for each call; passed on to the services called on its behalf, and returned in
     * the response header x-openstack-request-id. */
    char request_id[GRPC_REQUEST_ID_SIZE];
    struct log_context log; /* includes request_id */
    uid_t uid;              /* of the connected process */
    gid_t gid;
    pid_t pid;
    /*
     * Deadline of the client on the monotonic clock, 0: none.  It becomes an instant of the past
     * when the client disconnects or cancels, and when the server's grace period is over: read it
     * with grpc_call_is_over() only, or pass its address to http_call.until_us (http/client.h),
     * which ends that call then.
     */
    int64_t until_us;
    struct worker_pool *pool; /* that runs it; NULL: it delays no other call */
    unsigned threads;         /* of the pool */
};

/* The client no longer reads the response.  Work that has not started need not start; work in
 * progress continues or is undone by the service's own rules. */
bool grpc_call_is_over(const struct grpc_call *call);

/* Other calls wait for a thread: one that only waits itself should end if it can be repeated. */
bool grpc_call_delays_others(const struct grpc_call *call);

/*
 * 0: `response`, initially an empty message, is the response.  -1: see err; its kind becomes a code
 * by the table in status.c, and clients read error_client_text(). A positive value: a code
 * (grpc_refuse()), and clients read err->message, which must not be empty.
 *
 * Runs in a thread of the server's pool, several at once; may block.
 */
typedef int grpc_handler(struct grpc_call *call, const void *request, void *response,
                         struct error *err);

struct grpc_method {
    const char *name; /* of the descriptor: "Probe" */
    grpc_handler *handler;
};

struct grpc_service {
    const ProtobufCServiceDescriptor *descriptor;
    const struct grpc_method *methods; /* ended with a NULL name */
    void *arg;
};
