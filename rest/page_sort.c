#include "rest/page_sort.h"

#include "common/words.h"
#include "operation/pairs.h"

#include <string.h>

static void sort_add(struct page_sort *sort, const char *sql, bool text, bool descending) {
    for (unsigned i = 0; i < sort->count; i++)
        if (strcmp(sort->keys[i].sql, sql) == 0)
            return;
    sort->keys[sort->count].sql = sql;
    sort->keys[sort->count].text = text;
    sort->keys[sort->count++].descending = descending;
}

/* The two columns that are never NULL are used plain, so that an index can serve them. */
static int sort_add_key(struct request *request, const struct resource *resource,
                        struct page_sort *sort, const char *key, bool descending,
                        struct error *err) {
    const struct resource_column *column = resource_column(resource, key, strlen(key));
    bool text;

    if (sort->count == SORT_KEYS)
        return error_set(err, ERROR_BAD_REQUEST, "Invalid sort: more than %d keys.", SORT_KEYS);
    if (strcmp(key, "id") == 0 || strcmp(key, "created_at") == 0) {
        sort_add(sort, arena_format(request->work.arena, "%s.%s", resource->alias, key),
                 key[0] == 'i', descending);
        return 0;
    }
    if (!column || (!request->context.is_admin && words_list_has(resource->admin_sorts, key)) ||
        (request->minor < resource->name_sorts_since && strcmp(key, "name") == 0))
        return error_set(err, ERROR_BAD_REQUEST, "Invalid sort key: %s", key);
    text = column->type == COLUMN_TEXT || column->type == COLUMN_FILLED ||
           column->type == COLUMN_STATUS;
    sort_add(sort,
             column->type == COLUMN_FILLED ? column->column
                                           : arena_format(request->work.arena, "COALESCE(%s, %s)",
                                                          column->column, text ? "''" : "-1"),
             text, descending);
    return 0;
}

static int direction_read(const char *text, bool *ret_descending, struct error *err) {
    *ret_descending = strcmp(text, "desc") == 0;
    if (*ret_descending || strcmp(text, "asc") == 0)
        return 0;
    return error_set(err, ERROR_BAD_REQUEST,
                     "Invalid sort direction: '%s' is neither asc nor desc.", text);
}

static char *text_trim(char *text) {
    size_t length;

    text += strspn(text, " ");
    length = strlen(text);
    while (length > 0 && text[length - 1] == ' ')
        text[--length] = '\0';
    return text;
}

int page_sort_read(struct request *request, const struct page *page, struct page_sort *ret,
                   struct error *err) {
    const char *list = request_query(request, "sort");
    const char *key = request_query(request, "sort_key");
    const char *direction = request_query(request, "sort_dir");
    const char *alias = page->resource->alias;
    struct arena *arena = request->work.arena;
    bool descending;

    ret->count = 0;
    if (list && (key || direction))
        return error_set(err, ERROR_BAD_REQUEST,
                         "sort cannot be used together with sort_key and sort_dir.");
    /* "key[:dir],…" */
    for (char *rest = list ? arena_text(arena, list) : NULL, *way; rest;) {
        way = strsep(&rest, ",");
        key = text_trim(strsep(&way, ":"));
        way = way ? text_trim(way) : NULL;
        if (direction_read(way && *way ? way : "desc", &descending, err) < 0 ||
            sort_add_key(request, page->resource, ret, key, descending, err) < 0)
            return -1;
    }
    if (!list && (direction_read(direction ? direction : "desc", &descending, err) < 0 ||
                  sort_add_key(request, page->resource, ret,
                               key ? key : page->resource->default_sort, descending, err) < 0))
        return -1;
    descending = ret->keys[0].descending;
    sort_add(ret, arena_format(arena, "%s.created_at", alias), false, descending);
    sort_add(ret, arena_format(arena, "%s.id", alias), true, descending);
    return 0;
}

/* A column of the leading pair's row is taken from there. */
static const char *sort_term(struct arena *arena, const struct page *page, const char *sql) {
    size_t alias = strlen(page->resource->alias);

    if (!page->lead || strncmp(sql, page->resource->alias, alias) != 0 || sql[alias] != '.')
        return sql;
    if (strcmp(sql + alias, ".id") == 0)
        return arena_format(arena, "pair.%s", page->lead->owner);
    return strcmp(sql + alias, ".created_at") == 0 ? "pair.created_at" : sql;
}

void page_sort_set(struct request *request, struct page *page, const struct page_sort *sort) {
    struct arena *arena = request->work.arena;
    const char *order = "";

    for (unsigned i = 0; i < sort->count; i++)
        order = arena_format(arena, "%s%s%s %s", order, i ? ", " : "",
                             sort_term(arena, page, sort->keys[i].sql),
                             sort->keys[i].descending ? "DESC" : "ASC");
    page->query.order = order;
}

/* ---- the marker ---- */

/* All keys in one direction: (k1, k2) < (?, ?), served by an index over (k1, k2). */
static const char *condition_even(struct arena *arena, const struct page *page,
                                  const struct page_sort *sort) {
    const char *keys = sort_term(arena, page, sort->keys[0].sql), *places = "?";

    for (unsigned i = 1; i < sort->count; i++) {
        keys = arena_format(arena, "%s, %s", keys, sort_term(arena, page, sort->keys[i].sql));
        places = arena_format(arena, "%s, ?", places);
    }
    return arena_format(arena, "(%s) %s (%s)", keys, sort->keys[0].descending ? "<" : ">", places);
}

/* k1 > ? OR (k1 = ? AND (k2 < ? OR (k2 = ? AND …))), built from the inside. */
static const char *condition_mixed(struct arena *arena, const struct page *page,
                                   const struct page_sort *sort) {
    const char *inside = NULL;

    for (unsigned i = sort->count; i-- > 0;) {
        const char *key = sort_term(arena, page, sort->keys[i].sql);
        const char *than = sort->keys[i].descending ? "<" : ">";

        inside = inside
                     ? arena_format(arena, "%s %s ? OR (%s = ? AND (%s))", key, than, key, inside)
                     : arena_format(arena, "%s %s ?", key, than);
    }
    return inside;
}

static void marker_set(struct request *request, struct page *page, const struct page_sort *sort,
                       const struct db_value *row) {
    struct arena *arena = request->work.arena;
    struct db_value *values = arena_alloc(arena, 2 * sort->count * sizeof(*values));
    unsigned count = 0;
    bool even = true;

    for (unsigned i = 1; i < sort->count; i++)
        even &= sort->keys[i].descending == sort->keys[0].descending;
    for (unsigned i = 0; i < sort->count; i++) {
        values[count++] = row[i];
        if (!even && i + 1 < sort->count)
            values[count++] = row[i];
    }
    page_set_marker(request, page,
                    even ? condition_even(arena, page, sort) : condition_mixed(arena, page, sort),
                    values, count);
}

static const char *marker_sql(struct arena *arena, const struct resource *resource,
                              const struct page_sort *sort, const char *visible) {
    const char *keys = sort->keys[0].sql;

    for (unsigned i = 1; i < sort->count; i++)
        keys = arena_format(arena, "%s, %s", keys, sort->keys[i].sql);
    return arena_format(arena, "SELECT %s FROM %s %s WHERE %s.id = $1%s%s", keys, resource->table,
                        resource->alias, resource->alias, visible ? " AND " : "",
                        visible ? page_places(arena, visible, 2) : "");
}

int page_marker_read(struct request *request, struct page *page, const struct page_sort *sort,
                     const char *id, const char *visible, const char *project_id,
                     struct error *err) {
    struct arena *arena = request->work.arena;
    const struct db_value values[] = { DB_TEXT(id), DB_TEXT(project_id) };
    struct db_value row[SORT_KEYS + 2];
    autorows struct db_rows *rows =
        db_query_values(request->work.tx, err, marker_sql(arena, page->resource, sort, visible),
                        values, visible ? 2 : 1);
    int more = rows ? db_next(rows, err) : -1;

    if (error_if_none(more, err, ERROR_NOT_FOUND, "marker [%s] could not be found.", id) < 0)
        return -1;
    for (unsigned i = 0; i < sort->count; i++)
        row[i] = sort->keys[i].text ? DB_TEXT(db_copy(rows, i, arena)) : DB_INT(db_int(rows, i));
    marker_set(request, page, sort, row);
    return 0;
}
