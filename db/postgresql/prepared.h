/*
 * Prepared statements of one PostgreSQL session, found again by their text and the types of their
 * values; db_run(), db_query() and the columns of rows are implemented on it.  The one least used
 * lately makes room for a new one.
 *
 * A NULL has no type: alone it lets the server infer one, and it fits a statement prepared with
 * any.
 */
#pragma once

#include "db/db.h"

#include <stdint.h>

struct session;

enum { PREPARED_MOST = 256, PREPARED_BUCKETS = 256 };

struct prepared {
    char *sql;
    unsigned char *types; /* enum db_value_type of each place */
    size_t count;
    uint32_t hash;
    uint32_t used;         /* the cache's tick when it was last taken */
    unsigned number;       /* its name at the server */
    struct prepared *next; /* in its bucket */
};

struct prepared_cache {
    struct prepared kept[PREPARED_MOST];
    struct prepared *buckets[PREPARED_BUCKETS];
    unsigned count, tick, numbers;
};

void prepared_forget_all(struct prepared_cache *cache);

/* Of the engine: see engine.h. */
int prepared_run(struct db_tx *tx, struct error *err, const char *sql,
                 const struct db_value *values, size_t count);
struct db_rows *prepared_query(struct db_tx *tx, struct error *err, const char *sql,
                               const struct db_value *values, size_t count);
int prepared_next(struct db_rows *rows, struct error *err);
void prepared_end(struct db_rows *rows);
unsigned prepared_columns(const struct db_rows *rows);
enum db_value_type prepared_type(const struct db_rows *rows, unsigned column);
const char *prepared_text(const struct db_rows *rows, unsigned column);
int64_t prepared_integer(const struct db_rows *rows, unsigned column);
double prepared_real(const struct db_rows *rows, unsigned column);
