/*
 * Reads the database of another service, which stays as it is.
 *
 * The address is that of SQLAlchemy: mysql, mariadb, postgresql or sqlite, perhaps with "+driver".
 * All queries of one call see the same state.  The client library of MariaDB is loaded at run time,
 * as only this tool needs it; every other engine is one of this service's own.
 */
#pragma once

#include "common/error.h"
#include "manager/import/source_table.h"

/* `ret` has room for `count` tables.  Their rows are in the order of the bytes of the first column,
 * then in that of the query.  An error never has the password. */
int source_read(struct arena *arena, const char *url, const char *const *queries, size_t count,
                struct source_table *ret, struct error *err);
