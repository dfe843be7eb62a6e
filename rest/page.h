/*
 * A page of a list: the conditions on its rows, their count, the link to the next page; page_read.h
 * parses one from a query.
 */
#pragma once

#include "operation/query.h"
#include "rest/request.h"
#include "rest/resource.h"

struct pair_rows;

struct page {
    const struct resource *resource;
    struct query query;
    int64_t limit; /* as requested, or the maximum */
    bool with_count;
    bool empty; /* a filter that nothing can match */
    bool cut;   /* ended before its limit because of its size: there is more */
    const void *rows;
    const char *last_id; /* of the last row shown */
    /* private: the filters, and the condition of the marker */
    const char *where;
    struct db_value *values;
    unsigned value_count, value_room;
    const char *marker;
    const struct db_value *marker_values;
    unsigned marker_count;
    const struct pair_rows *lead; /* the pair with the leading rows; or NULL (page_pairs.h) */
};

/* AND another condition; "?" in `condition` is the parameter of the next value. */
void page_and(struct request *request, struct page *page, const char *condition,
              const struct db_value *values, unsigned count);
/* The condition that excludes the marker's row and all before it: "?" as above. */
void page_set_marker(struct request *request, struct page *page, const char *condition,
                     const struct db_value *values, unsigned count);
/* `condition` with "$n" for each "?", counted from `first`. */
const char *page_places(struct arena *arena, const char *condition, unsigned first);
/* LIKE pattern of what contains `text`; the escape is '!'. */
const char *page_pattern(struct arena *arena, const char *text);
/* The row of the list owns a pair with this key, and the value `holds`: "m.value = ?". */
#define PAGE_HAS_PAIR(table, owner, holds) \
    "EXISTS (SELECT 1 FROM " table " m WHERE m." owner " AND m.key = ? AND " holds ")"

/* Number of matches without paging (with_count). */
int page_count(struct request *request, struct page *page, int64_t *ret, struct error *err);
/* Writes "<word>_links" after the list when there is a next page; "count" is the caller's.  `count`
 * is used only with_count. */
void page_put_links(struct request *request, const struct page *page, unsigned shown, int64_t count,
                    bool detail);
