/*
 * db_run(), db_query() and the columns of rows on a PostgreSQL session; see engine.h.
 */
#pragma once

#include "db/db.h"

int postgresql_query_run(struct db_tx *tx, struct error *err, const char *sql,
                         const struct db_value *values, size_t count);
struct db_rows *postgresql_query_begin(struct db_tx *tx, struct error *err, const char *sql,
                                       const struct db_value *values, size_t count);
int postgresql_query_next(struct db_rows *rows, struct error *err);
void postgresql_query_end(struct db_rows *rows);
unsigned postgresql_query_columns(const struct db_rows *rows);
enum db_value_type postgresql_query_type(const struct db_rows *rows, unsigned column);
const char *postgresql_query_text(const struct db_rows *rows, unsigned column);
int64_t postgresql_query_integer(const struct db_rows *rows, unsigned column);
double postgresql_query_real(const struct db_rows *rows, unsigned column);
