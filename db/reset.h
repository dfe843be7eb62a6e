/*
 * Makes one database equal to another with the same schema, row by row: much cheaper for small ones
 * than a new database, because the schema and the prepared statements stay.
 */
#pragma once

#include "db/sqlite.h"

int reset_rows(struct connection *connection, struct connection *pristine, struct error *err);
