#include "api/documents/watch.h"

#include "api/documents/watcher.h"
#include "common/cleanup.h"
#include "common/words.h"
#include "rest/dict_text.h"
#include "rest/page_read.h"
#include "rest/route.h"

#include <string.h>

#define LABELS_MOST    32
#define TIMEOUT_S      300
#define TIMEOUT_MOST_S 600 /* the caller's rights are checked once, at the start */

/* A node's agent watches the documents of the node, in all projects. */
static const char *node_key(const struct request *request) {
    return request->context.is_admin ? request->route->resource->all_by : NULL;
}

static int check_keys(const struct request *request, struct error *err) {
    static const char *const keys[] = { "watch", "resourceVersion", "timeoutSeconds",
                                        "name",  "labels",          "all_tenants" };
    const char *node = node_key(request);
    const struct pair *parameters;
    unsigned count = request_queries(request, &parameters);

    for (unsigned i = 0; i < count; i++)
        if (!words_have(keys, LENGTH(keys), parameters[i].key) &&
            !(node && strcmp(parameters[i].key, node) == 0))
            return error_set(err, ERROR_BAD_REQUEST, "Invalid watch: unsupported parameter %.100s.",
                             parameters[i].key);
    return 0;
}

static int read_number(const struct request *request, const char *name, int64_t least, int64_t most,
                       int64_t *ret, struct error *err) {
    const char *text = text_or_null(request_query(request, name));

    if (!text || (json_digits(text, ret) && *ret >= least && *ret <= most))
        return 0;
    return error_set(err, ERROR_BAD_REQUEST,
                     "Invalid %s: '%.100s' is not a number from %jd to %jd.", name, text,
                     (intmax_t)least, (intmax_t)most);
}

static int read_labels(const struct request *request, struct pairs *ret, struct error *err) {
    const char *text = request_query(request, "labels");

    if (!text)
        return 0;
    if (!dict_text_parse(request->work.arena, text, ret))
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid labels: not of the form {'key': 'value'}.");
    if (ret->count > LABELS_MOST)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid labels: %u pairs are given, at most %d can be.", ret->count,
                         LABELS_MOST);
    return 0;
}

int document_watch(struct request *request, const struct document_kind *kind, struct error *err) {
    struct watch *watch = arena_alloc(request->work.arena, sizeof(*watch));
    struct document_position *position = &watch->position;
    struct document_scope *scope = &watch->scope;
    int64_t timeout_s = TIMEOUT_S, last;

    scope->kind = kind;
    if (check_keys(request, err) < 0 ||
        page_read_project(request, request->route->resource, &scope->project_id, err) < 0)
        return -1;
    scope->name = request_query(request, "name");
    if (scope->name && kind->is_name_admin_only && !request->context.is_admin)
        scope->name = ""; /* matches none */
    scope->node = node_key(request) ? request_query(request, node_key(request)) : NULL;
    if (read_labels(request, &scope->labels, err) < 0 ||
        document_last_version(&request->work, &last, err) < 0 ||
        read_number(request, "resourceVersion", 0, INT64_MAX, &position->version, err) < 0)
        return -1;
    watch->begins = !text_or_null(request_query(request, "resourceVersion"));
    position->floor = watch->begins ? last : position->version;
    if (document_position_check(position, last, err) < 0 ||
        read_number(request, "timeoutSeconds", 1, TIMEOUT_MOST_S, &timeout_s, err) < 0)
        return -1;
    watch->sees_hosts = request->context.is_admin;
    watch->timeout_ms = timeout_s * 1000;
    request->watch = watch;
    return 0;
}
