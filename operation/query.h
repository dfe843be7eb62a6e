/*
 * Helpers of the files that read rows: one row, all of them, one page of a list.
 */
#pragma once

#include "operation/work.h"

/*
 * Rows for a list.  `where` is the inside of WHERE ("1=1" for all), with parameters from $1 on
 * for `values`; `order` the inside of ORDER BY; limit < 0: none.
 */
struct query {
    const char *where;
    const struct db_value *values;
    unsigned value_count;
    const char *order;
    int64_t limit, offset;
    bool with_details; /* includes columns of other tables */
    /* The limit of memory for the details (0: none).  *cut: it has ended the page early. */
    size_t bytes_most;
    bool *cut;
    const char *join; /* more tables, after those of the list's own SELECT; or NULL */
    /* Rows in parts, whose memory ends with the call of put(): a list that has parts returns
     * no rows but their number.  put() returns whether more are wanted; NULL: all at once. */
    unsigned part;
    bool (*put)(void *arg, const void *rows, unsigned count);
    void *put_arg;
};

/*
 * Runs "<select> WHERE … ORDER BY … LIMIT … OFFSET …" from the query; a NULL order is none.
 * `select` ends before WHERE and has no parameters of its own.  NULL and err on failure; ended by
 * autorows.
 */
struct db_rows *query_page(struct work *work, const char *select, const struct query *query,
                           struct error *err);

/* Reads the current row of `rows` into *item: 0, or -1. */
typedef int query_read(struct work *work, const struct db_rows *rows, void *item,
                       struct error *err);

/*
 * Reads and ends `rows`, which may be NULL when the query failed.  All of them: *ret, a pointer to
 * items, gets an array in the arena; returns how many, or -1.  One: 1 read, 0 there is none, -1.
 */
#define query_all(work, rows, read, ret, err) \
    query_all_sized(work, rows, read, ret, sizeof(**(ret)), err)
int query_all_sized(struct work *work, struct db_rows *rows, query_read *read, void *ret,
                    size_t size, struct error *err);
int query_one(struct work *work, struct db_rows *rows, query_read *read, void *ret,
              struct error *err);
/* A query_read of rows with one column: *item is a const char *. */
int query_text(struct work *work, const struct db_rows *rows, void *item, struct error *err);

/* Space for one more item of `size` bytes after the `count` in `items`; grows by doubling, the old
 * block stays in the arena.  `count` must rise by one between calls. */
void *query_grow(struct arena *arena, void *items, unsigned count, size_t size);

/* The number of values in IN (…) for `count` of them: the next power of two, so that the texts of
 * statements repeat. */
unsigned query_in_count(unsigned count);
