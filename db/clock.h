/*
 * The database's clock, which several processes compare and which outlives them.  It cannot be set,
 * and it never goes back behind a stored instant.
 *
 * On SQLite all processes are on one machine, so it is that machine's CLOCK_BOOTTIME plus an offset
 * stored with the id of the boot.  After another boot it continues from the newest instant in the
 * database, whatever the wall clock reports: no process of the previous boot is alive, so leases
 * may end there.  The wall clock is used once, when a database is created, so that the numbers look
 * like dates.
 *
 * On PostgreSQL it is the server's clock with a correction (db/postgresql/clock.h).
 */
#pragma once

#include "db/db.h"

/* Of SQLite; `writes` a row when there is none for this boot.  Its offset to the steady clock of
 * `local`. Within a transaction. */
int clock_of_boot(struct db_tx *tx, const struct clock *local, int64_t *ret_ahead_us,
                  struct error *err);

/* The same for a read-only program. */
int clock_read(struct db_tx *tx, const struct clock *local, int64_t *ret_ahead_us,
               struct error *err);

/* Is the instant of an earlier boot?  Commits of then without a flush may be lost.  1, or 0: also
 * on PostgreSQL, which flushes each. */
int clock_is_earlier_boot(struct db_tx *tx, int64_t instant_us, struct error *err);

/* Of PostgreSQL, see db/postgresql/clock.h: writes the row when it differs from the server's. */
int clock_of_server(struct db_tx *tx, int64_t server_us, struct error *err);
