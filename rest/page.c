#include "rest/page.h"

#include "rest/url.h"

#include <string.h>

const char *page_places(struct arena *arena, const char *condition, unsigned first) {
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

/* Filters and marker as one condition with one list of values; the filters' parameters keep their
 * numbers, so that page_count() can omit the marker. */
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
                                     page_places(arena, page->marker, filters + 1));
    page->query.values = values;
    page->query.value_count += page->marker_count;
}

void page_and(struct request *request, struct page *page, const char *condition,
              const struct db_value *values, unsigned count) {
    struct arena *arena = request->work.arena;
    const char *numbered = page_places(arena, condition, page->value_count + 1);

    page->where = page->where ? arena_format(arena, "%s AND (%s)", page->where, numbered)
                              : arena_format(arena, "(%s)", numbered);
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
    page_compose(arena, page);
}

const char *page_pattern(struct arena *arena, const char *text) {
    char *pattern = arena_alloc(arena, 2 * strlen(text) + 3), *end = pattern;

    *end++ = '%';
    for (; *text; text++) {
        if (strchr("%_!", *text))
            *end++ = '!';
        *end++ = *text;
    }
    *end = '%';
    return pattern;
}

void page_set_marker(struct request *request, struct page *page, const char *condition,
                     const struct db_value *values, unsigned count) {
    page->marker = condition;
    page->marker_values = values;
    page->marker_count = count;
    page_compose(request->work.arena, page);
}

int page_count(struct request *request, struct page *page, int64_t *ret, struct error *err) {
    const char *sql = arena_format(request->work.arena, "SELECT COUNT(*) FROM %s %s%s WHERE %s",
                                   page->resource->table, page->resource->alias,
                                   page->query.join ? page->query.join : "", page->where);

    return db_query_int_values(request->work.tx, ret, err, sql, page->values, page->value_count) < 0
               ? -1
               : 0;
}

/* ---- the link to the next page ---- */

/* The request's own query with another marker, built once: a query may be long. */
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
            escaped[kept++] = (struct pair){ http_encode(arena, parameters[i].key),
                                             http_encode(arena, parameters[i].value) };
    escaped[kept++] = (struct pair){ "marker", http_encode(arena, last_id) };
    for (unsigned i = 0; i < kept; i++)
        size += strlen(escaped[i].key) + strlen(escaped[i].value) + 2;
    query = end = arena_alloc(arena, size);
    for (unsigned i = 0; i < kept; i++)
        end = stpcpy(stpcpy(stpcpy(stpcpy(end, i ? "&" : ""), escaped[i].key), "="),
                     escaped[i].value);
    return query;
}

void page_put_links(struct request *request, const struct page *page, unsigned shown, int64_t count,
                    bool detail) {
    struct json_out *out = &request->out;
    struct arena *arena = request->work.arena;
    const char *list;

    if (shown == 0 || (!page->cut && (page->with_count ? count : shown) < page->limit))
        return;
    list = detail && !page->resource->links_short
               ? arena_format(arena, "%s/detail", page->resource->collection)
               : page->resource->collection;
    out_key_text(out, page->resource->links_word);
    out_begin_array(out);
    out_begin_object(out);
    out_put_text(out, "rel", "next");
    out_put_text(out, "href",
                 arena_format(arena, "%s?%s", request_collection(request, list),
                              next_query(request, page->last_id)));
    out_end_object(out);
    out_end_array(out);
}
