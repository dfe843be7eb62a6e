/*
 * Prepared statements of one connection, found again by their text; db_run(), db_query() and the
 * columns of rows are implemented on it.  The one least used lately makes room for a new one.
 */
#pragma once

#include "db/db.h"

#include <sqlite3.h>

struct connection;

enum { STATEMENTS_MOST = 128, STATEMENT_BUCKETS = 256 };

struct db_rows {
    struct connection *connection;
    sqlite3_stmt *statement;
    char *sql; /* as the caller wrote it; NULL: not kept, the same text was busy */
    uint32_t hash;
    uint32_t used;        /* the cache's tick when it was last taken */
    bool busy;            /* between db_query() and db_rows_end() */
    struct db_rows *next; /* in its bucket */
};

struct statement_cache {
    struct db_rows kept[STATEMENTS_MOST];
    struct db_rows *buckets[STATEMENT_BUCKETS];
    struct db_rows *hints[STATEMENT_BUCKETS]; /* by the address of the text: checked before use */
    unsigned count;
    uint32_t tick;
    unsigned open; /* rows not ended yet */
};

/* Drops every kept statement; none may be busy. */
void statement_forget_all(struct statement_cache *cache);
