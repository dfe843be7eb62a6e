/*
 * Helpers of the files that read rows: one page of a list, and arrays that grow in the arena.
 */
#pragma once

#include "ledger/work.h"

/*
 * Rows for a list.  `where` is the inside of WHERE ("1=1" for all), with places from $1 on for
 * `values`; `order` the inside of ORDER BY; limit < 0: none.
 */
struct query {
    const char *where;
    const struct db_value *values;
    unsigned value_count;
    const char *order;
    int64_t limit, offset;
    bool with_details; /* what other tables say of the rows, too */
    /* So much memory may the details take (0: any). *cut: the page ended earlier for that. */
    size_t bytes_most;
    bool *cut;
};

/*
 * Runs "<select> WHERE … ORDER BY … LIMIT … OFFSET …" as the query says; a NULL order is none.
 * `select` ends before WHERE and has no places of its own.  NULL and err on failure; ended by
 * autorows.
 */
struct db_rows *query_page(struct work *work, const char *select, const struct query *query,
                           struct error *err);

/* Room for one more item of `size` bytes behind the `count` that `items` holds; grows by doubling,
 * the old block stays in the arena. `count` must rise by one between calls. */
void *query_grow(struct arena *arena, void *items, unsigned count, size_t size);

/* Number of values that IN (…) shall have for `count` of them: the next power of two, so that the
 * texts of statements repeat. */
unsigned query_in_count(unsigned count);
