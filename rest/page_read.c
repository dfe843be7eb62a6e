#include "rest/page_read.h"

#include "common/cleanup.h"
#include "common/words.h"
#include "rest/page_filter.h"
#include "rest/page_sort.h"

#include <string.h>

#define OFFSET_MOST  2147483647
#define LIMIT_DIGITS 18 /* a larger limit equals none */

static int number_read(const char *name, const char *text, int64_t most, int64_t *ret,
                       struct error *err) {
    if (json_digits(text, ret) && *ret <= most)
        return 0;
    return error_set(err, ERROR_BAD_REQUEST,
                     "Invalid %s: '%s' must be a whole number from 0 to %jd.", name, text,
                     (intmax_t)most);
}

static int page_read_limits(struct request *request, struct page *page, struct error *err) {
    const char *limit = request_query(request, "limit");
    const char *offset = request_query(request, "offset");

    page->limit = request->work.settings->max_limit;
    if (limit) {
        int64_t asked;

        if (limit[strspn(limit, "0123456789")] == '\0' && strlen(limit) > LIMIT_DIGITS)
            asked = INT64_MAX;
        else if (number_read("limit", limit, INT64_MAX, &asked, err) < 0)
            return -1;
        if (asked < page->limit && !(asked == 0 && page->resource->limit_0_is_none))
            page->limit = asked;
    }
    page->query.limit = page->limit;
    return offset ? number_read("offset", offset, OFFSET_MOST, &page->query.offset, err) : 0;
}

static int boolean_read(const char *name, const char *text, bool *ret, struct error *err) {
    if (json_boolean_word(text, true, ret))
        return 0;
    return error_set(err, ERROR_BAD_REQUEST, "Invalid %s: '%s' is not a boolean.", name, text);
}

int page_read_project(struct request *request, const struct resource *resource, const char **ret,
                      struct error *err) {
    const char *asked = request_query(request, "all_tenants");
    bool all = false;

    if (request->context.is_admin && resource->all_by && request_query(request, resource->all_by)) {
        all = true;
    } else if (request->context.is_admin && asked) {
        if (resource->all_tenants_by_presence)
            all = true;
        else if (boolean_read("all_tenants", asked, &all, err) < 0)
            return -1;
    }
    *ret = all ? NULL : request->context.project_id ? request->context.project_id : "";
    return 0;
}

static bool parameter_is_paging(const struct request *request, const struct resource *resource,
                                const char *name) {
    static const char *const names[] = { "limit",    "marker",   "offset",     "sort",
                                         "sort_key", "sort_dir", "all_tenants" };
    static const char *const of_watches[] = { "watch", "resourceVersion", "timeoutSeconds" };

    return words_have(names, LENGTH(names), name) ||
           (strcmp(name, "with_count") == 0 && request->minor >= MV_WITH_COUNT) ||
           (resource->watch && words_have(of_watches, LENGTH(of_watches), name));
}

/* Of a repeated parameter the last one counts. */
static int page_read_filters(struct request *request, struct page *page, struct error *err) {
    const struct pair *parameters;
    unsigned count = request_queries(request, &parameters);

    for (unsigned i = 0; i < count; i++) {
        const struct pair *parameter = &parameters[i];

        if (parameter_is_paging(request, page->resource, parameter->key) ||
            request_query(request, parameter->key) != parameter->value)
            continue;
        if (page_filter(request, page, parameter, err) < 0)
            return -1;
    }
    return 0;
}

int page_read(struct request *request, const struct resource *resource, struct page *ret,
              struct error *err) {
    const char *marker = request_query(request, "marker");
    const char *project = NULL, *visible = NULL;
    const char *asked, *scope;
    struct page_sort sort;
    struct db_value value;

    *ret = (struct page){ .resource = resource };
    if (page_read_limits(request, ret, err) < 0 || page_sort_read(request, ret, &sort, err) < 0)
        return -1;
    asked = request_query(request, "with_count");
    if (asked && request->minor >= MV_WITH_COUNT &&
        boolean_read("with_count", asked, &ret->with_count, err) < 0)
        return -1;
    if (resource->by_project && page_read_project(request, resource, &project, err) < 0)
        return -1;
    if (project) {
        visible = arena_format(request->work.arena, "%s.project_id = ?", resource->alias);
    } else if (resource->visible && !request->context.is_admin) {
        visible = resource->visible;
        project = request->context.project_id;
    }
    if (page_read_filters(request, ret, err) < 0)
        return -1;
    /* restricts the page to the project's rows; the leading pair, too */
    scope = ret->lead && visible ? "pair.project_id = ?" : visible;
    value = DB_TEXT(project);
    page_and(request, ret, scope ? scope : "1=1", &value, scope ? 1 : 0);
    page_sort_set(request, ret, &sort);
    if (marker && page_marker_read(request, ret, &sort, marker, visible, project, err) < 0)
        return -1;
    if (ret->empty)
        page_and(request, ret, "1=0", NULL, 0);
    return 0;
}
