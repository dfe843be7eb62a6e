/*
 * Copies rows from one database to another with the same schema, of any engines.
 */
#pragma once

#include "db/db.h"

enum { TABLES_MOST = 64 };

struct tables {
    unsigned count;
    const char *names[TABLES_MOST]; /* a table references only those before it */
};

/* The tables of a database, in memory of the arena. */
int tables_read(struct db_tx *tx, struct arena *arena, struct tables *ret, struct error *err);

/* Not one with the number of the schema, nor SQLite's own with the last keys. */
bool table_has_objects(const char *table);

/* Copies the rows of one table, and returns their number; `progress` (or NULL) is called for each
 * 1000th. */
typedef void reset_progress(void *arg, const char *table, int64_t rows);
int64_t table_copy(struct db_tx *to, struct db_tx *from, const char *table,
                   reset_progress *progress, void *arg, struct error *err);

/* Makes the rows of every table those of `from`: for few rows cheaper than a new database, because
 * schema and prepared statements stay. */
int rows_replace(struct db_tx *to, struct db_tx *from, struct error *err);
