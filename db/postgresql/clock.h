/*
 * The database's clock on PostgreSQL: the server's clock, with a correction for when it is set.
 *
 * A process measures the offset between the server's clock and its own CLOCK_BOOTTIME, and uses the
 * latter in between.  When the offset changes by more than running clocks can drift, the server's
 * clock was set: the first process that detects it changes the correction in the table, so that
 * time continues steadily for all processes.  But if a stored instant is still in the future here,
 * this machine's clock stood still, and it follows.
 *
 * A process that has just started knows no earlier offset.  It trusts the server unless that is
 * behind a stored instant.  When the server is far ahead of it, either no process has run for a
 * while, or the clock was set just now: until the others must have detected that, the process is
 * not sure of the time, and no lease of another node, deadline or retention expires for it
 * (db_clock_sure()).
 */
#pragma once

#include "db/postgresql/postgresql.h"

enum { POSTGRESQL_CLOCK_MS = 10000 }; /* interval of measurements */

/* Creates the row of the table, if it differs from the server's.  Within the schema transaction. */
int postgresql_clock_begin(struct db_tx *tx, struct error *err);

/* For a read-only program: uses the clock unchanged. */
int postgresql_clock_read(struct postgresql_db *db, struct session *session, struct error *err);

/* Measures and, if necessary, corrects.  By one thread at a time. */
int postgresql_clock_measure(struct postgresql_db *db, struct session *session, struct error *err);
