#include "rest/request.h"

#include "common/cleanup.h"
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

int request_is_marked(const struct request *request, const char *header, bool *ret,
                      struct error *err) {
    const char *text = http_header(request->http, header);

    *ret = text != NULL;
    return !text || strcmp(text, "true") == 0
               ? 0
               : error_set(err, ERROR_BAD_REQUEST,
                           "Invalid value for %s: %.64s; it is \"true\" or absent.", header, text);
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

bool request_allows_row(struct request *request, const char *rule, const char *project_id,
                        const char *user_id) {
    struct {
        const char *project_id;
        bool allows;
    } *last = request->view;

    if (!last)
        last = request->view = arena_alloc(request->work.arena, sizeof *last);
    if (!last->project_id || strcmp(last->project_id, project_id) != 0) {
        last->project_id = project_id;
        last->allows =
            request_allows(request, rule, &(struct policy_target){ project_id, user_id });
    }
    return last->allows;
}

unsigned request_allows_each(struct request *request, const char *const *rules, unsigned count,
                             const struct policy_target *target) {
    return policy_allows_each(request->policy, rules, count, &request->context, target);
}

/* "<base>/v3[/<project>]/<collection>" and `end`; without /v3 for the bookmark. */
static const char *collection_link(struct request *request, const char *version,
                                   const char *collection, const char *end) {
    struct arena *arena = request->http->arena;
    const char *project = request->path_project;

    return arena_join(arena, request->base_url, version, project ? http_encode(arena, project) : "",
                      project ? "/" : "", collection, end, NULL);
}

const char *request_collection(struct request *request, const char *collection) {
    return collection_link(request, "/v3/", collection, "");
}

/* JSON that begins with `before`, and ends with the link to `collection` and a slash. */
static struct json_part link_part(struct request *request, const char *before, const char *version,
                                  const char *collection) {
    struct json_out out;

    json_out_init(&out, request->http->arena, 0);
    out_raw(&out, before, strlen(before));
    out.comma = false;
    out_text(&out, collection_link(request, version, collection, "/"));
    return (struct json_part){ out.text, out.size - 1 }; /* without the quote */
}

void request_links(struct request *request, const char *collection, const char *id) {
    if (request->links_of != collection) {
        request->links_of = collection;
        request->links[0] = link_part(request, "[{\"rel\":\"self\",\"href\":", "/v3/", collection);
        request->links[1] =
            link_part(request, "\"},{\"rel\":\"bookmark\",\"href\":", "/", collection);
        request->links[2] = (struct json_part){ "\"}]", 3 };
    }
    out_between(&request->out, request->links, LENGTH(request->links), id);
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
