/*
 * Prepared statements of one SQLite connection, cached by their text; db_run(), db_query() and the
 * columns of rows are implemented on it.  The least recently used one is evicted.
 */
#pragma once

#include "db/sqlite/connection.h"

enum { STATEMENTS_MOST = 128, STATEMENT_BUCKETS = 256 };

struct sqlite_rows {
    struct db_rows base;
    struct connection *connection;
    sqlite3_stmt *statement;
    char *sql; /* as the caller wrote it; NULL: not cached, the same text was busy */
    uint32_t hash;
    uint32_t used;            /* the cache's tick at the last use */
    bool busy;                /* between db_query() and db_rows_end() */
    struct sqlite_rows *next; /* in its bucket */
};

struct statement_cache {
    struct sqlite_rows kept[STATEMENTS_MOST];
    struct sqlite_rows *buckets[STATEMENT_BUCKETS];
    struct sqlite_rows
        *hints[STATEMENT_BUCKETS]; /* by the address of the text: verified before use */
    unsigned count;
    uint32_t tick;
    unsigned open; /* rows not ended yet */
};

struct statement_cache *statement_cache_new(void);
void statement_cache_free(struct statement_cache *cache);

/* Drops every cached statement; none may be busy. */
void statement_forget_all(struct statement_cache *cache);

/* Of the engine: see engine.h. */
int statement_run(struct db_tx *tx, struct error *err, const char *sql,
                  const struct db_value *values, size_t count);
struct db_rows *statement_query(struct db_tx *tx, struct error *err, const char *sql,
                                const struct db_value *values, size_t count);
int statement_next(struct db_rows *rows, struct error *err);
void statement_end(struct db_rows *rows);
unsigned statement_columns(const struct db_rows *rows);
enum db_value_type statement_type(const struct db_rows *rows, unsigned column);
const char *statement_text(const struct db_rows *rows, unsigned column);
int64_t statement_integer(const struct db_rows *rows, unsigned column);
double statement_real(const struct db_rows *rows, unsigned column);
