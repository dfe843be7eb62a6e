/*
 * The database's clock on PostgreSQL: the server's, and what it is corrected by when somebody sets
 * that.
 *
 * A process measures how far the server's clock and its own CLOCK_BOOTTIME are apart and goes by
 * the latter in between.  When they are further apart than clocks that run can drift, the server's
 * was set: whoever sees it first changes the correction in the table, so that for all processes
 * time goes on as if nothing had happened.  But when somebody has told an instant that is still to
 * come here, it is this machine whose clock stood still, and it follows.
 *
 * A process that has just started knows no time before.  It takes the server's word unless that is
 * behind what was told.  When it is far ahead of what was told, either nobody has been here for a
 * while, or the server's clock was set just now: until the others must have seen that, it is not
 * sure of the time: no lease of another place, no deadline and nothing kept is over for it
 * (db_clock_sure()).
 */
#pragma once

#include "db/postgresql/postgresql.h"

enum { POSTGRESQL_CLOCK_MS = 10000 }; /* how often it is to be measured */

/* Makes the row of the table, if it is not the server's. For the transaction of the schema. */
int postgresql_clock_begin(struct db_tx *tx, struct error *err);

/* For a program that only reads: takes the clock as it is. */
int postgresql_clock_read(struct postgresql_db *db, struct session *session, struct error *err);

/* Measures and, if need be, corrects. By one thread at a time. */
int postgresql_clock_measure(struct postgresql_db *db, struct session *session, struct error *err);
