#include "compute/agent/request.h"

const json_t *request_body(struct http_exchange *exchange, struct error *err) {
    if (exchange->too_large) {
        error_set(err, ERROR_TOO_LARGE, "Request is too large.");
        return NULL;
    }
    return json_parse_within(exchange->arena, exchange->body, exchange->body_size,
                             JSON_BODY_VALUES_MOST, err);
}
