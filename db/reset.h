/*
 * Rows from one database to another with the same schema, whichever their engines.
 */
#pragma once

#include "db/db.h"

enum { TABLES_MOST = 64 };

struct tables {
    unsigned count;
    const char *names[TABLES_MOST]; /* a table refers only to those before it */
};

/* The tables of a database, in memory of the arena. */
int tables_read(struct db_tx *tx, struct arena *arena, struct tables *ret, struct error *err);

/* Copies the rows of one table, and returns how many; `progress` (or NULL) hears of each 1000th. */
typedef void reset_progress(void *arg, const char *table, int64_t rows);
int64_t table_copy(struct db_tx *to, struct db_tx *from, const char *table,
                   reset_progress *progress, void *arg, struct error *err);

/* Makes the rows of every table those of `from`: cheaper for few rows than a new database, because
 * the schema and the prepared statements stay. */
int rows_replace(struct db_tx *to, struct db_tx *from, struct error *err);
