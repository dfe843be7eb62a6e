/*
 * Results of calls: gRPC's status codes, and the code of each kind of error.
 */
#pragma once

#include "common/error.h"

struct arena;

/* Their numbers are those of the protocol. */
enum grpc_code {
    GRPC_OK,
    GRPC_CANCELLED,
    GRPC_UNKNOWN,
    GRPC_INVALID_ARGUMENT,
    GRPC_DEADLINE_EXCEEDED,
    GRPC_NOT_FOUND,
    GRPC_ALREADY_EXISTS,
    GRPC_PERMISSION_DENIED,
    GRPC_RESOURCE_EXHAUSTED,
    GRPC_FAILED_PRECONDITION,
    GRPC_ABORTED,
    GRPC_OUT_OF_RANGE,
    GRPC_UNIMPLEMENTED,
    GRPC_INTERNAL,
    GRPC_UNAVAILABLE,
    GRPC_DATA_LOSS,
    GRPC_UNAUTHENTICATED,
    GRPC_CODES
};

/*
 * For what our errors cannot say (ALREADY_EXISTS, OUT_OF_RANGE, …): sets the message, which the
 * client reads, and returns the code.  So a refusal of a handler is one line:
 *
 *     return grpc_refuse(err, GRPC_ALREADY_EXISTS, "%s has another size", name);
 */
int grpc_refuse(struct error *err, enum grpc_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The code for a handler's result (call.h). */
enum grpc_code grpc_code_of(int result, const struct error *err);
const char *grpc_code_name(enum grpc_code code); /* "NOT_FOUND" */

/* A status message on the wire: percent-encoded, except printable ASCII without '%'. */
char *grpc_message_escape(struct arena *arena, const char *message);
