/*
 * Reads the database of another service, which stays as it is.
 *
 * The address is that of SQLAlchemy: mysql, mariadb, postgresql or sqlite, perhaps with "+driver".
 * All queries of one call see the same state.  The client library of MariaDB is loaded at run time,
 * as only this tool needs it; every other engine is one of this service's own.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"

#include <stddef.h>

/* The result of a query; text in the arena, NULL for SQL NULL. */
struct source_table {
    unsigned columns;
    size_t rows;
    const char **cells;
};

static inline const char *source_cell(const struct source_table *table, size_t row,
                                      unsigned column) {
    return table->cells[row * table->columns + column];
}

/* `ret` has room for `count` tables.  Their rows are in the order of the bytes of the first column,
 * then in that of the query.  An error never has the password. */
int source_read(struct arena *arena, const char *url, const char *const *queries, size_t count,
                struct source_table *ret, struct error *err);

/* ---- of an engine ---- */

struct source_address {
    const char *user, *password, *host, *database; /* NULL: not given */
    unsigned port;                                 /* 0: not given */
    const char *unix_socket, *ssl_ca, *ssl_cert, *ssl_key;
};
/* mysql://user:password@host:port/database?key=value, decoded. */
int source_parse(struct arena *arena, const char *url, struct source_address *ret,
                 struct error *err);
/* A row of a result, appended. */
void source_add_row(struct arena *arena, struct source_table *table, const char *const *cells);

int mariadb_read(struct arena *arena, const struct source_address *address,
                 const char *const *queries, size_t count, struct source_table *ret,
                 struct error *err);
