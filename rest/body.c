#include "rest/call.h"

/* Larger ones are parsed by a thread of the pool: above each bound it takes more than half a
 * millisecond, or memory that a thousand clients must not have at once. */
#define SMALL_BYTES  ((size_t)8 * 1024)
#define SMALL_VALUES ((size_t)512)

static bool is_read(const struct request *request) {
    return (!request->route || route_wants_body(request->route)) && request->http->body_size > 0 &&
           http_header(request->http, "Content-Type");
}

bool body_is_large(const struct request *request) {
    const struct http_exchange *http = request->http;

    /* of fewer bytes none has so many values: most bodies are not scanned */
    return (http->body_size > SMALL_BYTES ||
            (http->body_size >= SMALL_VALUES &&
             json_values(http->body, http->body_size) > SMALL_VALUES)) &&
           is_read(request);
}

int body_parse(struct request *request, struct error *err) {
    const struct http_exchange *http = request->http;

    if (request->route && !route_wants_body(request->route))
        return 0;
    if (!is_read(request)) {
        if (request->route && request->route->flags & ROUTE_ANY_VALUE)
            return 0;
        return error_set(err, ERROR_BAD_REQUEST, "The request needs a JSON body.");
    }
    request->json_outer =
        json_parse_within(http->arena, http->body, http->body_size, JSON_BODY_VALUES_MOST, err);
    request->json = request->json_outer;
    return request->json_outer ? 0 : -1;
}

int body_find_action(struct request *request, const struct route_node *node, struct error *err) {
    void *pair;

    if (!json_is_object(request->json_outer) || json_object_size(request->json_outer) != 1)
        return error_set(err, ERROR_BAD_REQUEST,
                         "The body of an action must be an object with exactly one key.");
    pair = json_object_iter((json_t *)(uintptr_t)request->json_outer);
    request->route = route_node_action(node, json_object_iter_key(pair));
    if (!request->route)
        return error_set(err, ERROR_BAD_REQUEST, "There is no such action: %s",
                         json_object_iter_key(pair));
    request->json = json_object_iter_value(pair);
    return 0;
}

/* Finds the object below the wrapper's key. */
static int body_unwrap(struct request *request, struct error *err) {
    const char *wrapper = request->route->wrapper;

    if (!json_is_object(request->json_outer))
        return error_set(err, ERROR_BAD_REQUEST, "The body must be an object with the key %s.",
                         wrapper);
    request->json = json_object_get(request->json_outer, wrapper);
    if (json_object_size(request->json_outer) == 0 && request->route->flags & ROUTE_EMPTY_BODY)
        request->json = json_null();
    if (!request->json)
        return error_set(err, ERROR_BAD_REQUEST, "Invalid body: '%s' is a required property.",
                         wrapper);
    if (json_object_size(request->json_outer) > 1 && !(request->route->flags & ROUTE_OPEN_OUTER))
        return error_set(err, ERROR_BAD_REQUEST, "Invalid body: it may only have the key %s.",
                         wrapper);
    return 0;
}

static int body_check(struct request *request, struct error *err) {
    return request->route->check ? request->route->check(request, err) : 0;
}

int body_decode(struct request *request, struct error *err) {
    const struct route *route = request->route;
    const char *what = route->action ? route->action : route->wrapper;
    bool strict = !(route->flags & ROUTE_OPEN) &&
                  !(route->flags & ROUTE_STRICT_LATE && request->minor < MV_STRICT_VOLUME_BODIES);
    void *body;

    if (!request->json_outer || route->flags & ROUTE_ANY_VALUE)
        return 0;
    if (route->wrapper && !(route->flags & ROUTE_NO_WRAPPER) && body_unwrap(request, err) < 0)
        return -1;
    if (route->flags & ROUTE_ONE_FIELD)
        request->json = json_keep(request->http->arena,
                                  json_pack("{s:O}", route->fields->name, request->json_outer));
    if (!route->fields)
        return body_check(request, err);
    body = arena_alloc(request->http->arena, route->body_size);
    request->body = body;
    if (json_is_null(request->json) && route->flags & ROUTE_NULL_VALUE)
        return 0;
    if (json_decode(request->http->arena, request->json, what ? what : "body", route->fields,
                    request->minor, strict, body, err) < 0)
        return -1;
    return body_check(request, err);
}
