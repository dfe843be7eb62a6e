/*
 * Applies db/schema/NNNN_*.sql in order, forward only, all that are missing in one transaction: a
 * database is never between two schemas.  The texts are built into the program; "@serial@" in them
 * stands for the engine's self-numbering key.
 */
#pragma once

#include "db/db.h"

int migrate_newest(void); /* number of the newest schema this program knows */

/* Brings the schema to migrate_newest(). A newer one is refused (ERROR_BAD_REQUEST). */
int migrate_run(struct db_tx *tx, const char *serial_words, struct error *err);

/* Runs every statement of one text. */
int migrate_text(struct db_tx *tx, const char *sql, const char *serial_words, struct error *err);
