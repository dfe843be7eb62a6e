#include "tests/lib/database_text.h"

#include "common/cleanup.h"
#include "tests/lib/postgresql.h"

#include <stdio.h>
#include <stdlib.h>

/* What makes the query of one table from its name: the row's text, or NULL and its columns. */
#define TABLES                                                                \
    (postgresql_given() ? "SELECT table_name FROM information_schema.tables " \
                          "WHERE table_schema = current_schema() ORDER BY 1"  \
                        : "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1")
#define ROWS \
    (postgresql_given() ? "SELECT CAST(t AS TEXT) FROM %s t ORDER BY 1" : "SELECT * FROM %s")

struct dump {
    struct arena *arena;
    FILE *out;
};

static int put_rows(struct dump *dump, struct db_rows *rows, struct error *err) {
    int more = rows ? 1 : -1;

    while (more > 0 && (more = db_next(rows, err)) > 0) {
        for (unsigned i = 0; i < db_columns(rows); i++) {
            const char *text = db_text(rows, i);

            fprintf(dump->out, "%s|", text ? text : "NULL");
        }
        fputc('\n', dump->out);
    }
    return more;
}

static int put_table(struct dump *dump, struct db_tx *tx, const char *table, struct error *err) {
    autorows struct db_rows *rows = db_query(tx, err, arena_format(dump->arena, ROWS, table));

    fprintf(dump->out, "%s\n", table);
    return put_rows(dump, rows, err);
}

static int dump_body(struct db_tx *tx, void *arg, struct error *err) {
    struct dump *dump = arg;
    const char *tables[128];
    unsigned count = 0;
    int more;

    {
        autorows struct db_rows *rows = db_query(tx, err, TABLES);

        if (!rows)
            return -1;
        while ((more = db_next(rows, err)) > 0 && count < LENGTH(tables))
            tables[count++] = db_copy(rows, 0, dump->arena);
    }
    if (more != 0)
        return -1;
    for (unsigned i = 0; i < count; i++)
        if (put_table(dump, tx, tables[i], err) < 0)
            return -1;
    return 0;
}

const char *database_text(struct db *db, struct arena *arena) {
    autofree char *text = NULL;
    size_t size;
    struct dump dump = { arena, open_memstream(&text, &size) };
    struct error err = { .message = "too many tables" };

    if (!dump.out || db_read(db, dump_body, &dump, &err) < 0) {
        fprintf(stderr, "database_text: %s\n", err.message);
        abort();
    }
    fclose(dump.out);
    return arena_text(arena, text);
}
