#include "rest/request.h"

#include "common/cleanup.h"
#include "common/scoria_headers.h"
#include "rest/url.h"

#include <string.h>

const char *request_query(const struct request *request, const char *name) {
    for (unsigned i = request->query_count; i > 0; i--)
        if (strcmp(request->queries[i - 1].key, name) == 0)
            return request->queries[i - 1].value;
    return NULL;
}

int request_flag(const struct request *request, const char *name, bool *ret, struct error *err) {
    const char *text = request_query(request, name);

    if (text && !json_boolean_word(text, true, ret))
        return error_set(err, ERROR_BAD_REQUEST, "Invalid value for %s: %s", name, text);
    return 0;
}

int request_retries(const struct request *request, bool *ret, struct error *err) {
    const char *text = http_header(request->http, RETRY_HEADER);

    *ret = text != NULL;
    return !text || strcmp(text, "true") == 0
               ? 0
               : error_set(err, ERROR_BAD_REQUEST,
                           "Invalid value for " RETRY_HEADER ": %.64s; it is \"true\" or absent.",
                           text);
}

int request_renamed_header(const struct request *request, const char *name, const char *former,
                           const char **ret, struct error *err) {
    const char *value = http_header(request->http, name);
    const char *same = http_header(request->http, former);

    if (value && same && strcmp(value, same) != 0)
        return error_set(err, ERROR_BAD_REQUEST, "%s and %s must have the same value.", name,
                         former);
    *ret = value ? value : same;
    return 0;
}

unsigned request_queries(const struct request *request, const struct pair **ret) {
    *ret = request->queries;
    return request->query_count;
}

int request_authorize(struct request *request, const char *rule, const struct policy_target *target,
                      struct error *err) {
    return policy_enforce(request->policy, rule, &request->context, target, err);
}

bool request_allows(struct request *request, const char *rule, const struct policy_target *target) {
    return policy_allows(request->policy, rule, &request->context, target);
}

unsigned request_allows_each(struct request *request, const char *const *rules, unsigned count,
                             const struct policy_target *target) {
    return policy_allows_each(request->policy, rules, count, &request->context, target);
}

/* "<base>/v3/<project>/": the common part of all links of one request. */
static const char *link_base(struct request *request, bool bookmark) {
    struct arena *arena = request->http->arena;
    const char **base = &request->link_bases[bookmark];

    if (!*base)
        *base = arena_join(arena, request->base_url, bookmark ? "/" : "/v3/",
                           request->path_project ? http_encode(arena, request->path_project) : "",
                           request->path_project ? "/" : "", NULL);
    return *base;
}

const char *request_collection(struct request *request, const char *collection) {
    return arena_format(request->http->arena, "%s%s", link_base(request, false), collection);
}

/* "<base>/v3[/<project>]/<collection>/<id>", or without /v3 for the bookmark. */
static void put_link(struct request *request, const char *rel, bool bookmark,
                     const char *collection, const char *id) {
    const char *const parts[] = { link_base(request, bookmark), collection, "/", id };

    out_begin_object(&request->out);
    out_put_text(&request->out, "rel", rel);
    out_key(&request->out, "href");
    out_joined(&request->out, parts, LENGTH(parts));
    out_end_object(&request->out);
}

void request_links(struct request *request, const char *collection, const char *id) {
    out_begin_array(&request->out);
    put_link(request, "self", false, collection, id);
    put_link(request, "bookmark", true, collection, id);
    out_end_array(&request->out);
}

void request_header(struct request *request, const char *name, const char *value) {
    http_add_header(request->http, name, value);
}

struct pairs request_pairs(struct request *request, const json_t *object) {
    struct pair *items =
        arena_alloc(request->http->arena, (json_object_size(object) + 1) * sizeof(struct pair));
    unsigned count = 0;
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        items[count++] = (struct pair){ .key = key, .value = json_string_value(value) };
    }
    return (struct pairs){ .items = items, .count = count };
}
