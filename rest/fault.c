#include "rest/fault.h"

#include "rest/accept.h"
#include "json/out.h"

#include <string.h>

#define MEDIA_TYPE_OWN "application/vnd.openstack.volume+json"
#define RETRY_AFTER_S  "5"

const char *fault_media_type(const struct http_exchange *exchange) {
    const char *accept = http_header(exchange, "Accept");

    return accept && strcmp(accept, MEDIA_TYPE_OWN) == 0 ? MEDIA_TYPE_OWN : MEDIA_TYPE;
}

void fault_render(struct http_exchange *exchange, const struct error *err) {
    struct json_out out;

    exchange->status = error_http_status(err->kind);
    exchange->reply_body = "";
    exchange->reply_size = 0;
    if (err->kind == ERROR_PRECONDITION)
        return;
    json_out_init(&out, exchange->arena, 256);
    out_begin_object(&out);
    if (err->kind == ERROR_UNAUTHORIZED) {
        /* {"error": {"code": 401, "title": …}}: the form of the token middleware. */
        out_open_object(&out, "error");
        out_put_int(&out, "code", error_http_status(err->kind));
        out_put_text(&out, "title", "Unauthorized");
        out_put_text(&out, "message", err->message);
        out_end_object(&out);
    } else {
        out_key_text(&out, error_fault(err->kind));
        out_begin_object(&out);
        out_put_int(&out, "code", error_http_status(err->kind));
        out_put_text(&out, "message", error_client_text(err));
        if (err->kind == ERROR_OVER_QUOTA)
            out_put_text(&out, "retryAfter", "0");
        out_end_object(&out);
    }
    out_end_object(&out);
    exchange->reply_body = json_out_text(&out);
    exchange->reply_size = out.size;
    http_add_header(exchange, "Content-Type", fault_media_type(exchange));
    if (err->kind == ERROR_OVER_QUOTA)
        http_add_header(exchange, "Retry-After", "0");
    if (exchange->status == error_http_status(ERROR_UNAVAILABLE) && err->kind != ERROR_GOES_ON)
        http_add_header(exchange, "Retry-After", RETRY_AFTER_S);
}

void fault_render_unrouted(struct http_exchange *exchange) {
    accept_render(exchange, error_http_status(ERROR_NOT_FOUND), "Not Found",
                  "The resource could not be found.");
}

void fault_render_too_large(struct http_exchange *exchange) {
    accept_render(exchange, error_http_status(ERROR_TOO_LARGE), "Request Entity Too Large",
                  "The request's body is too large.");
}
