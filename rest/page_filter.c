#include "rest/page_filter.h"

#include "common/cleanup.h"
#include "rest/literal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define VALUES_MOST 1000

/* One value, for any form of condition. */
static void and_value(struct request *request, struct page *page, const char *form_before,
                      const char *column, const char *form_behind, struct db_value value) {
    page_and(request, page,
             arena_format(request->work.arena, "%s%s%s", form_before, column, form_behind), &value,
             1);
}

/* ---- one of several values ---- */

/* A whole number, also when written as 5.0; other texts equal no integer. */
static bool text_is_int(const char *text, int64_t *ret) {
    char *end;
    double real;

    errno = 0;
    *ret = strtoll(text, &end, 10);
    if (*text && *end == '\0' && errno == 0)
        return true;
    real = strtod(text, &end);
    if (*text == '\0' || *end != '\0' || !(real > -9e15 && real < 9e15))
        return false;
    *ret = (int64_t)real;
    return (double)*ret == real;
}

/* "column IN (?,…)" with a power of two of parameters, so that few statements differ. */
static const char *condition_in(struct arena *arena, const char *column, struct db_value *values,
                                unsigned *count) {
    unsigned places = query_in_count(*count);
    char *text, *end;

    if (*count == 0)
        return "1=0";
    text = arena_alloc(arena, strlen(column) + strlen(" IN ()") + 2 * (size_t)places + 1);
    end = stpcpy(stpcpy(text, column), " IN (");
    for (unsigned i = 0; i < places; i++) {
        if (i >= *count)
            values[i] = values[*count - 1];
        end = stpcpy(end, i ? ",?" : "?");
    }
    strcpy(end, ")");
    *count = places;
    return text;
}

static int filter_one_of(struct request *request, struct page *page,
                         const struct resource_column *column, const char *value,
                         struct error *err) {
    struct arena *arena = request->work.arena;
    struct db_value *values;
    struct literal literal;
    int64_t integer;
    unsigned count = 0;
    bool null = false;
    const char *condition;

    literal_read(arena, value, &literal);
    if (literal.count > VALUES_MOST || page->value_count > VALUES_MOST)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid filter %s: more than %d values in all filters together.",
                         column->name, VALUES_MOST);
    values = arena_alloc(arena, 2 * (literal.count + 1) * sizeof(*values));
    for (unsigned i = 0; i < literal.count; i++) {
        if (!literal.texts[i])
            null = true;
        else if (column->type != COLUMN_INT)
            values[count++] = DB_TEXT(literal.texts[i]);
        else if (text_is_int(literal.texts[i], &integer))
            values[count++] = DB_INT(integer);
    }
    page->empty |= count == 0 && !null;
    condition = condition_in(arena, column->column, values, &count);
    if (null)
        condition = arena_format(arena, "%s IS NULL OR %s", column->column, condition);
    page_and(request, page, condition, values, count);
    return 0;
}

/* ---- other kinds ---- */

static const struct {
    const char *name, *sql;
} time_operators[] = { { "gt:", " > ?" },   { "gte:", " >= ?" }, { "eq:", " = ?" },
                       { "neq:", " <> ?" }, { "lt:", " < ?" },   { "lte:", " <= ?" } };

/* "gte:2026-01-01" as SQL after the column; NULL when it is not a condition on a time. */
static const char *time_condition(const char *text, int64_t *ret_us) {
    for (size_t i = 0; i < LENGTH(time_operators); i++) {
        size_t length = strlen(time_operators[i].name);

        if (strncmp(text, time_operators[i].name, length) == 0)
            return clock_parse(text + length, ret_us) == 0 ? time_operators[i].sql : NULL;
    }
    return NULL;
}

/* Several conditions are joined with OR, as upstream. */
static int filter_time(struct request *request, struct page *page,
                       const struct resource_column *column, const char *value, struct error *err) {
    struct arena *arena = request->work.arena;
    char *rest = arena_text(arena, value);
    const char *joined = NULL;
    struct db_value values[16];
    unsigned count = 0;

    while (rest) {
        const char *text = strsep(&rest, ",");
        int64_t instant_us = 0;
        const char *sql = count < LENGTH(values) ? time_condition(text, &instant_us) : NULL;

        if (!sql)
            return error_set(err, ERROR_BAD_REQUEST,
                             "Invalid filter %s: '%s' must be gt, gte, eq, neq, lt or lte, a "
                             "colon and a time (at most %zu of them).",
                             column->name, text, LENGTH(values));
        joined = joined ? arena_format(arena, "%s OR %s%s", joined, column->column, sql)
                        : arena_format(arena, "%s%s", column->column, sql);
        values[count++] = DB_INT(instant_us);
    }
    page_and(request, page, joined, values, count);
    return 0;
}

static int filter_column(struct request *request, struct page *page,
                         const struct resource_column *column, const char *value,
                         struct error *err) {
    if (column->type == COLUMN_BOOL) {
        bool wanted;

        if (request->minor < MV_STRICT_BOOLEANS)
            wanted = value[0] != '\0' && strcasecmp(value, "false") != 0;
        else if (!json_boolean_word(value, true, &wanted))
            return error_set(err, ERROR_BAD_REQUEST, "Invalid filter %s: '%s' is not a boolean.",
                             column->name, value);
        and_value(request, page, "", column->column, " = ?", DB_BOOL(wanted));
        return 0;
    }
    if (column->type == COLUMN_TIME)
        return filter_time(request, page, column, value, err);
    if (strcmp(column->name, "name") != 0 && strcmp(column->name, "display_name") != 0)
        return filter_one_of(request, page, column, value, err);
    and_value(request, page, "", column->column, " = ?", DB_TEXT(value));
    return 0;
}

/* ---- permitted filters ---- */

static bool text_is_ascii(const char *text) {
    while (*text && !(*text & 0x80))
        text++;
    return *text == '\0';
}

static int filter_refuse(struct request *request, const char *key, struct error *err) {
    if (request->minor < MV_STRICT_FILTERS)
        return 0;
    return error_set(err, ERROR_BAD_REQUEST, "Invalid filter: this list cannot be filtered by %s.",
                     key);
}

int page_filter(struct request *request, struct page *page, const struct pair *parameter,
                struct error *err) {
    const char *key = parameter->key;
    size_t length = strlen(key);
    bool contains = request->minor >= MV_CONTAINS_FILTER && length > 1 && key[length - 1] == '~';
    const struct resource_column *column = resource_column(page->resource, key, length - contains);
    int taken;

    if (!text_is_ascii(key) && request->minor >= MV_STRICT_FILTERS)
        return error_set(err, ERROR_BAD_REQUEST, "Invalid filter: its name must be ASCII.");
    taken = page->resource->filter
                ? page->resource->filter(request, page, key, parameter->value, err)
                : 0;
    if (taken != 0)
        return taken < 0 ? -1 : 0;
    if (!column) {
        /* An admin may filter by any column; an unknown key matches nothing. */
        if (!request->context.is_admin)
            return filter_refuse(request, key, err);
        page->empty = true;
        return 0;
    }
    if (!request->context.is_admin && (!column->for_all || contains))
        return filter_refuse(request, key, err);
    if (request->minor < MV_STRICT_FILTERS && request->minor < column->since)
        return 0;
    if (!contains)
        return filter_column(request, page, column, parameter->value, err);
    and_value(request, page, "lower(CAST(", column->column, " AS TEXT)) LIKE lower(?) ESCAPE '!'",
              DB_TEXT(page_pattern(request->work.arena, parameter->value)));
    return 0;
}

int page_filter_public(struct request *request, struct page *page, struct error *err) {
    const char *asked = request_query(request, "is_public");
    const struct db_value project = DB_TEXT(request->context.project_id);
    bool is_public = true;

    if (!request->context.is_admin || (asked && strcasecmp(asked, "none") == 0))
        return 0;
    if (asked && !json_boolean_word(asked, true, &is_public))
        return error_set(err, ERROR_BAD_REQUEST, "Invalid is_public filter [%s]", asked);
    if (is_public)
        page_and(request, page, page->resource->visible, &project, 1);
    else
        page_and(request, page, "t.is_public = 0", NULL, 0);
    return 0;
}
