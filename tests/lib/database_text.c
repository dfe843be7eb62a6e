#include "tests/lib/database_text.h"

#include "common/cleanup.h"
#include "tests/lib/postgresql.h"

#include <stdio.h>
#include <stdlib.h>

/* Each table, and the expression of the text of one of its rows. */
#define TABLES                                                                                  \
    (postgresql_given()                                                                         \
         ? "SELECT table_name, 'CAST(t AS TEXT)' FROM information_schema.tables "               \
           "WHERE table_schema = current_schema() ORDER BY 1"                                   \
         : "SELECT name, (SELECT group_concat('quote(\"' || c.name || '\")', ' || ''|'' || ') " \
           "FROM pragma_table_info(m.name) c) FROM sqlite_master m WHERE type = 'table' "       \
           "ORDER BY 1")

static char every_row[1 << 16]; /* the query; of one schema */

static int read_tables(struct db_tx *tx, void *arg, struct error *err) {
    autorows struct db_rows *rows = db_query(tx, err, TABLES);
    FILE *out = fmemopen(every_row, sizeof every_row, "w");
    int more = rows ? 1 : -1;

    (void)arg;
    for (const char *also = ""; more > 0 && (more = db_next(rows, err)) > 0; also = " UNION ALL ")
        fprintf(out, "%sSELECT '%s', %s FROM %s t", also, db_text(rows, 0), db_text(rows, 1),
                db_text(rows, 0));
    fputs(" ORDER BY 1, 2", out);
    fclose(out);
    return more;
}

static int put_rows(struct db_tx *tx, void *arg, struct error *err) {
    autorows struct db_rows *rows = db_query(tx, err, every_row);
    int more = rows ? 1 : -1;

    while (more > 0 && (more = db_next(rows, err)) > 0)
        fprintf(arg, "%s %s\n", db_text(rows, 0), db_text(rows, 1));
    return more;
}

const char *database_text(struct db *db, struct arena *arena) {
    autofree char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    struct error err;

    if (!out || (!every_row[0] && db_read(db, read_tables, NULL, &err) < 0) ||
        db_read(db, put_rows, out, &err) < 0) {
        fprintf(stderr, "database_text: %s\n", err.message);
        abort();
    }
    fclose(out);
    return arena_text(arena, text);
}
