#include "api/page.h"

#include "api/page_filter.h"
#include "api/page_sort.h"
#include "api/url.h"
#include "common/cleanup.h"

#include <string.h>

#define OFFSET_MOST  2147483647
#define LIMIT_DIGITS 18 /* a limit of more is as good as none */

/* `condition` with "$n" for each "?", counted from `first`. */
static const char *condition_number(struct arena *arena, const char *condition, unsigned first) {
    size_t places = 0;
    char *text, *end;

    for (const char *at = condition; *at; at++)
        places += *at == '?';
    text = end = arena_alloc(arena, strlen(condition) + places * 10 + 1);
    for (; *condition; condition++) {
        if (*condition == '?')
            end += sprintf(end, "$%u", first++);
        else
            *end++ = *condition;
    }
    return text;
}

/* Filters and marker as one condition with one list of values; the filters' places do not change,
 * so that page_count() can leave the marker out. */
static void page_compose(struct arena *arena, struct page *page) {
    unsigned filters = page->value_count;
    struct db_value *values;

    page->query.where = page->where;
    page->query.values = page->values;
    page->query.value_count = filters;
    if (!page->marker)
        return;
    values = arena_alloc(arena, (filters + page->marker_count) * sizeof(*values));
    if (filters)
        memcpy(values, page->values, filters * sizeof(*values));
    memcpy(values + filters, page->marker_values, page->marker_count * sizeof(*values));
    page->query.where = arena_format(arena, "%s AND (%s)", page->where,
                                     condition_number(arena, page->marker, filters + 1));
    page->query.values = values;
    page->query.value_count += page->marker_count;
}

static void page_add_values(struct arena *arena, struct page *page, const struct db_value *values,
                            unsigned count) {
    if (page->value_count + count > page->value_room) {
        struct db_value *moved;

        page->value_room = 2 * (page->value_count + count);
        moved = arena_alloc(arena, page->value_room * sizeof(*moved));
        if (page->value_count)
            memcpy(moved, page->values, page->value_count * sizeof(*moved));
        page->values = moved;
    }
    if (count)
        memcpy(page->values + page->value_count, values, count * sizeof(*values));
    page->value_count += count;
}

void page_and(struct request *request, struct page *page, const char *condition,
              const struct db_value *values, unsigned count) {
    struct arena *arena = request->work.arena;
    const char *numbered = condition_number(arena, condition, page->value_count + 1);

    page->where = page->where ? arena_format(arena, "%s AND (%s)", page->where, numbered)
                              : arena_format(arena, "(%s)", numbered);
    page_add_values(arena, page, values, count);
    page_compose(arena, page);
}

/* ---- reading the query ---- */

static int number_read(const char *name, const char *text, int64_t most, int64_t *ret,
                       struct error *err) {
    if (json_digits(text, ret) && *ret <= most)
        return 0;
    return error_set(err, ERROR_BAD_REQUEST,
                     "Invalid %s: '%s' must be a whole number from 0 to %jd.", name, text,
                     (intmax_t)most);
}

static bool digits_only(const char *text) {
    return text[strspn(text, "0123456789")] == '\0';
}

static int page_read_limits(struct request *request, struct page *page, struct error *err) {
    const char *limit = request_query(request, "limit");
    const char *offset = request_query(request, "offset");

    page->limit = request->work.settings->max_limit;
    if (limit) {
        int64_t asked;

        if (digits_only(limit) && strlen(limit) > LIMIT_DIGITS)
            asked = INT64_MAX;
        else if (number_read("limit", limit, INT64_MAX, &asked, err) < 0)
            return -1;
        if (asked < page->limit)
            page->limit = asked;
    }
    page->query.limit = page->limit;
    return offset ? number_read("offset", offset, OFFSET_MOST, &page->query.offset, err) : 0;
}

static int boolean_read(const char *name, const char *text, bool *ret, struct error *err) {
    if (json_boolean_word(text, true, ret))
        return 0;
    return error_set(err, ERROR_BAD_REQUEST, "Invalid %s: '%s' is no boolean.", name, text);
}

static int page_read_count(struct request *request, struct page *page, struct error *err) {
    const char *asked = request_query(request, "with_count");

    if (!asked || request->minor < MV_WITH_COUNT)
        return 0;
    return boolean_read("with_count", asked, &page->with_count, err);
}

/* The project that the caller is held to, or NULL. all_tenants of others than admins is nothing. */
static int page_read_project(struct request *request, const struct page_rules *rules,
                             const char **ret, struct error *err) {
    const char *asked = request_query(request, "all_tenants");
    bool all = false;

    if (request->context.is_admin && asked) {
        if (rules->all_tenants_by_presence)
            all = true;
        else if (boolean_read("all_tenants", asked, &all, err) < 0)
            return -1;
    }
    *ret = all ? NULL : request->context.project_id ? request->context.project_id : "";
    return 0;
}

static bool parameter_is_paging(const struct request *request, const char *name) {
    static const char *const names[] = { "limit",    "marker",   "offset",     "sort",
                                         "sort_key", "sort_dir", "all_tenants" };

    for (size_t i = 0; i < LENGTH(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return strcmp(name, "with_count") == 0 && request->minor >= MV_WITH_COUNT;
}

/* Of a parameter that comes twice the last one counts. */
static int page_read_filters(struct request *request, struct page *page, struct error *err) {
    const struct pair *parameters;
    unsigned count = request_queries(request, &parameters);

    for (unsigned i = 0; i < count; i++) {
        const struct pair *parameter = &parameters[i];

        if (parameter_is_paging(request, parameter->key) ||
            request_query(request, parameter->key) != parameter->value)
            continue;
        if (page_filter(request, page, parameter, err) < 0)
            return -1;
    }
    return 0;
}

int page_read(struct request *request, const struct page_rules *rules, bool by_project,
              struct page *ret, struct error *err) {
    const char *marker = request_query(request, "marker");
    struct arena *arena = request->work.arena;
    const char *project = NULL, *visible = NULL;
    struct page_sort sort;
    struct db_value value;

    *ret = (struct page){ .rules = rules };
    if (page_read_limits(request, ret, err) < 0 || page_sort_read(request, ret, &sort, err) < 0 ||
        page_read_count(request, ret, err) < 0 ||
        (by_project && page_read_project(request, rules, &project, err) < 0))
        return -1;
    if (project) {
        visible = arena_format(arena, "%s.project_id = ?", rules->alias);
    } else if (rules->visible && !request->context.is_admin) {
        visible = rules->visible;
        project = request->context.project_id;
    }
    value = DB_TEXT(project);
    page_and(request, ret, visible ? visible : "1=1", &value, visible ? 1 : 0);
    if (visible)
        visible = condition_number(arena, visible, 2);
    if (page_read_filters(request, ret, err) < 0 ||
        (marker && page_marker_read(request, ret, &sort, marker, visible, project, err) < 0))
        return -1;
    if (ret->empty)
        page_and(request, ret, "1=0", NULL, 0);
    page_compose(arena, ret);
    return 0;
}

int page_count(struct request *request, struct page *page, int64_t *ret, struct error *err) {
    const char *sql = arena_format(request->work.arena, "SELECT COUNT(*) FROM %s %s WHERE %s",
                                   page->rules->table, page->rules->alias, page->where);

    return db_query_int_values(request->work.tx, ret, err, sql, page->values, page->value_count) < 0
               ? -1
               : 0;
}

/* ---- the link to the next page ---- */

/* The request's own query with another marker, put together once: a query may be long. */
static const char *next_query(struct request *request, const char *last_id) {
    struct arena *arena = request->work.arena;
    const struct pair *parameters;
    unsigned count = request_queries(request, &parameters);
    struct pair *escaped = arena_alloc(arena, (count + 1) * sizeof(*escaped));
    unsigned kept = 0;
    size_t size = 1;
    char *query, *end;

    for (unsigned i = 0; i < count; i++)
        if (strcmp(parameters[i].key, "marker") != 0)
            escaped[kept++] = (struct pair){ url_escape(arena, parameters[i].key),
                                             url_escape(arena, parameters[i].value) };
    escaped[kept++] = (struct pair){ "marker", url_escape(arena, last_id) };
    for (unsigned i = 0; i < kept; i++)
        size += strlen(escaped[i].key) + strlen(escaped[i].value) + 2;
    query = end = arena_alloc(arena, size);
    for (unsigned i = 0; i < kept; i++)
        end = stpcpy(stpcpy(stpcpy(stpcpy(end, i ? "&" : ""), escaped[i].key), "="),
                     escaped[i].value);
    return query;
}

void page_put_links(struct request *request, const struct page *page, unsigned shown, int64_t count,
                    const char *last_id, bool detail) {
    struct json_out *out = &request->out;
    struct arena *arena = request->work.arena;
    const char *list;

    if (shown == 0 || (!page->cut && (page->with_count ? count : shown) < page->limit))
        return;
    list = detail ? arena_format(arena, "%s/detail", page->rules->collection)
                  : page->rules->collection;
    out_key_text(out, page->rules->links_word);
    out_begin_array(out);
    out_begin_object(out);
    out_put_text(out, "rel", "next");
    out_put_text(out, "href",
                 arena_format(arena, "%s?%s", request_collection(request, list),
                              next_query(request, last_id)));
    out_end_object(out);
    out_end_array(out);
}
