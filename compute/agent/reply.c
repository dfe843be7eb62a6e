#include "compute/agent/reply.h"

void reply_json(struct http_exchange *exchange, int status, struct json_out *out) {
    exchange->status = status;
    exchange->reply_body = json_out_text(out);
    exchange->reply_size = out->size;
    http_add_header(exchange, "Content-Type", "application/json");
    http_reply(exchange);
}

void reply_empty(struct http_exchange *exchange, int status) {
    exchange->status = status;
    http_reply(exchange);
}

void reply_fault(struct http_exchange *exchange, const struct error *err) {
    int status = error_http_status(err->kind);
    struct json_out out;

    json_out_begin(&out, exchange->arena, error_fault(err->kind));
    out_put_int(&out, "code", status);
    out_put_text(&out, "message", err->message);
    json_out_end(&out);
    reply_json(exchange, status, &out);
}
