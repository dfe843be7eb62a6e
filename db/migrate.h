/*
 * Applies db/schema/NNNN_*.sql in order, forward only, all missing ones in one transaction: a
 * database is never between two schemas.  An empty one gets db/schema/baseline.sql in place of the
 * steps that it contains.  The texts are built into the program; "@serial@" in them stands for the
 * engine's self-numbering key.
 */
#pragma once

#include "db/db.h"

int migrate_newest(void); /* number of the newest schema of this program */

/* The number of the schema; 0: there is none. */
int migrate_number(struct db_tx *tx, int64_t *ret, struct error *err);

/*
 * Migrates the schema to migrate_newest(). A newer one is refused (ERROR_BAD_REQUEST). An older one
 * with rows is first passed to `copy` (NULL: no backup), which returns the name of the backup in
 * `ret` (in the arena), or -1: then nothing is migrated.
 */
struct migrate_settings {
    const char *serial_words; /* of the engine */
    int (*copy)(void *arg, struct arena *arena, int64_t number, const char **ret,
                struct error *err);
    void *arg;
};
int migrate_run(struct db_tx *tx, const struct migrate_settings *settings, struct error *err);

/* Before the first change: refuses a newer schema, and tables of another program. */
int migrate_refuse(struct db_tx *tx, struct error *err);

/* For a read-only program: refuses a schema of another number, with advice. */
int migrate_check(struct db_tx *tx, struct error *err);

/* Runs every statement of one text. */
int migrate_text(struct db_tx *tx, const char *sql, const char *serial_words, struct error *err);
