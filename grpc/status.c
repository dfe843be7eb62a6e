#include "grpc/status.h"

#include "common/arena.h"
#include "common/assert.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
static const char *const names[GRPC_CODES] = {
    "OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND",
    "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED",
    "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
};

static const enum grpc_code codes[ERROR_KINDS] = {
    [ERROR_NONE]           = GRPC_INTERNAL, /* an unclassified failure */
    [ERROR_BAD_REQUEST]    = GRPC_INVALID_ARGUMENT,
    [ERROR_UNAUTHORIZED]   = GRPC_UNAUTHENTICATED,
    [ERROR_FORBIDDEN]      = GRPC_PERMISSION_DENIED,
    [ERROR_NOT_FOUND]      = GRPC_NOT_FOUND,
    [ERROR_BAD_METHOD]     = GRPC_UNIMPLEMENTED,
    [ERROR_NOT_ACCEPTABLE] = GRPC_UNIMPLEMENTED,
    [ERROR_CONFLICT]       = GRPC_ABORTED,
    [ERROR_COLLISION]      = GRPC_ABORTED,
    [ERROR_GONE]           = GRPC_ABORTED,
    [ERROR_PRECONDITION]   = GRPC_FAILED_PRECONDITION,
    [ERROR_OVER_QUOTA]     = GRPC_RESOURCE_EXHAUSTED,
    [ERROR_TOO_LARGE]      = GRPC_RESOURCE_EXHAUSTED,
    [ERROR_BAD_MEDIA_TYPE] = GRPC_INTERNAL,
    [ERROR_INTERNAL]       = GRPC_INTERNAL,
    [ERROR_BACKEND]        = GRPC_INTERNAL,
    [ERROR_UNAVAILABLE]    = GRPC_UNAVAILABLE,
    [ERROR_BUSY]           = GRPC_UNAVAILABLE,
    [ERROR_TRY_LATER]      = GRPC_UNAVAILABLE,
    [ERROR_GOES_ON]        = GRPC_UNAVAILABLE,
};
/* clang-format on */

int grpc_refuse(struct error *err, enum grpc_code code, const char *format, ...) {
    char text[sizeof(err->message)];
    va_list values;

    assert(code > GRPC_OK && code < GRPC_CODES);
    va_start(values, format);
    vsnprintf(text, sizeof(text), format, values);
    va_end(values);
    error_set(err, ERROR_BAD_REQUEST, "%s", text);
    return (int)code;
}

enum grpc_code grpc_code_of(int result, const struct error *err) {
    assert(result < GRPC_CODES && err->kind < ERROR_KINDS);
    return result < 0 ? codes[err->kind] : (enum grpc_code)result;
}

const char *grpc_code_name(enum grpc_code code) {
    return names[code];
}

char *grpc_message_escape(struct arena *arena, const char *message) {
    char *text = arena_alloc(arena, 3 * strlen(message) + 1), *end = text;

    for (const char *c = message; *c; c++)
        if (*c >= ' ' && *c <= '~' && *c != '%')
            *end++ = *c;
        else
            end += sprintf(end, "%%%02X", (unsigned char)*c);
    *end = '\0';
    return text;
}
