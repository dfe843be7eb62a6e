/*
 * Copies a whole database into an empty one, from one engine to the other: all rows or none.
 */
#pragma once

#include "db/reset.h"

struct copy_table {
    const char *name;
    int64_t rows;
};

struct copy {
    struct db *from, *to;
    struct arena *arena;
    reset_progress *progress; /* or NULL */
    void *arg;

    struct copy_table tables[TABLES_MOST]; /* the copied tables */
    unsigned count;
};

/* Is this database, opened with DB_LOOKS, a target?  It has no schema and no other program's table,
 * or a schema that this program migrates and no rows. */
int copy_check_target(struct db *db, struct error *err);
/* The target must have the newest schema and no rows, otherwise it is refused.  Schema number of a
 * database opened with DB_LOOKS; 0: it has none. */
int copy_database(struct copy *copy, struct error *err);
int copy_schema_number(struct db *db, int64_t *ret, struct error *err);
