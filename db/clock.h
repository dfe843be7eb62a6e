/*
 * The database's clock: what several processes compare, and what outlives them.  Nobody can set it,
 * and it never goes back behind what was stored.
 *
 * On SQLite all processes are on one machine, so it is that machine's CLOCK_BOOTTIME and an offset
 * that is stored beside the id of the boot.  After another boot it goes on from the newest instant
 * in the database, whatever the wall's clock says then: nobody of before lives, so leases may end
 * there.  The wall's is asked once, when a database is made, so that the numbers look like dates.
 *
 * On PostgreSQL it is the server's, and what that is corrected by (db/postgresql/clock.h).
 */
#pragma once

#include "db/db.h"

/* Of SQLite; `writes` a row when there is none for this boot. How far it is ahead of the steady
 * clock of `local`. For a transaction. */
int clock_of_boot(struct db_tx *tx, const struct clock *local, int64_t *ret_ahead_us,
                  struct error *err);

/* The same for a program that only reads. */
int clock_read(struct db_tx *tx, const struct clock *local, int64_t *ret_ahead_us,
               struct error *err);

/* Of PostgreSQL, see db/postgresql/clock.h: writes the row when it is not the server's. */
int clock_of_server(struct db_tx *tx, int64_t server_us, struct error *err);
