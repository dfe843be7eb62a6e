#include "db/reset.h"

enum { TABLES_MOST = 64 };

struct tables {
    struct arena *arena;
    const char *names[TABLES_MOST]; /* as created: a table refers only to those before it */
    unsigned count;
};

static int tables_read(struct db_tx *tx, struct tables *tables, struct error *err) {
    autorows struct db_rows *rows =
        db_query(tx, err, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid");
    int more;

    if (!rows)
        return -1;
    while ((more = db_next(rows, err)) > 0) {
        if (tables->count == TABLES_MOST)
            return error_set(err, ERROR_INTERNAL, "more than %d tables", TABLES_MOST);
        tables->names[tables->count++] = db_copy(rows, 0, tables->arena);
    }
    return more;
}

static int row_copy(struct db_tx *to, const char *table, const struct db_rows *from,
                    struct arena *arena, struct error *err) {
    int columns = sqlite3_column_count(from->statement);
    const char *sql = arena_format(arena, "INSERT INTO %s VALUES (%s)", table,
                                   db_places(arena, 1, (unsigned)columns));
    struct db_value *values = arena_alloc(arena, (size_t)columns * sizeof(*values));

    for (int i = 0; i < columns; i++)
        switch (sqlite3_column_type(from->statement, i)) {
        case SQLITE_NULL:
            break;
        case SQLITE_INTEGER:
            values[i] = DB_INT(db_int(from, (unsigned)i));
            break;
        case SQLITE_FLOAT:
            values[i].type = DB_VALUE_REAL;
            values[i].real = sqlite3_column_double(from->statement, i);
            break;
        default:
            values[i] = DB_TEXT(db_text(from, (unsigned)i));
        }
    return db_run_values(to, err, sql, values, (size_t)columns) < 0 ? -1 : 0;
}

static int table_copy(struct db_tx *to, struct db_tx *from, const char *table, struct arena *arena,
                      struct error *err) {
    const char *sql = arena_format(arena, "SELECT * FROM %s", table);
    autorows struct db_rows *rows = db_query(from, err, sql);
    int more;

    if (!rows)
        return -1;
    while ((more = db_next(rows, err)) > 0)
        if (row_copy(to, table, rows, arena, err) < 0)
            return -1;
    return more;
}

static int rows_replace(struct db_tx *to, struct db_tx *from, struct tables *tables,
                        struct error *err) {
    if (tables_read(to, tables, err) < 0)
        return -1;
    for (unsigned i = tables->count; i-- > 0;)
        if (db_run(to, err, arena_format(tables->arena, "DELETE FROM %s", tables->names[i])) < 0)
            return -1;
    for (unsigned i = 0; i < tables->count; i++)
        if (table_copy(to, from, tables->names[i], tables->arena, err) < 0)
            return -1;
    return 0;
}

int reset_rows(struct connection *connection, struct connection *pristine, struct error *err) {
    autoarena struct arena *arena = arena_new();
    struct tables tables = { .arena = arena };
    struct db_tx to = { .connection = connection, .writes = true };
    struct db_tx from = { .connection = pristine };

    if (sqlite_control(connection, "BEGIN IMMEDIATE", err) < 0)
        return -1;
    if (rows_replace(&to, &from, &tables, err) < 0 ||
        sqlite_control(connection, "COMMIT", err) < 0) {
        sqlite_rollback(connection);
        return -1;
    }
    return 0;
}
