#include "rpc/amqp/failure.h"

#include <string.h>

const char *failure_bytes(amqp_bytes_t bytes, char *text, size_t room) {
    size_t length = bytes.len < room ? bytes.len : room - 1;

    if (length > 0)
        memcpy(text, bytes.bytes, length);
    text[length] = '\0';
    return text;
}

int failure_library(const char *where, int status, const char *what, struct error *err) {
    return error_set(err, ERROR_UNAVAILABLE, "%s: %s: %s", where, what, amqp_error_string2(status));
}

int failure_broker(const char *where, const amqp_method_t *method, const char *what,
                   struct error *err) {
    char text[256];

    if (method->id == AMQP_CHANNEL_CLOSE_METHOD) {
        const amqp_channel_close_t *close = method->decoded;

        return error_set(err, ERROR_CONFLICT, "%s: %s: %d %s", where, what, close->reply_code,
                         failure_bytes(close->reply_text, text, sizeof text));
    }
    if (method->id == AMQP_CONNECTION_CLOSE_METHOD) {
        const amqp_connection_close_t *close = method->decoded;

        return error_set(err, ERROR_UNAVAILABLE, "%s: %s: %d %s", where, what, close->reply_code,
                         failure_bytes(close->reply_text, text, sizeof text));
    }
    return error_set(err, ERROR_UNAVAILABLE, "%s: %s: unexpected answer %s", where, what,
                     amqp_method_name(method->id));
}

int failure_reply(const char *where, amqp_rpc_reply_t reply, const char *what, struct error *err) {
    if (reply.reply_type == AMQP_RESPONSE_NORMAL)
        return 0;
    if (reply.reply_type != AMQP_RESPONSE_SERVER_EXCEPTION)
        return failure_library(where, reply.library_error, what, err);
    failure_broker(where, &reply.reply, what, err);
    return reply.reply.id == AMQP_CHANNEL_CLOSE_METHOD ? 1 : -1;
}
