#include "db/reset.h"

#include "common/assert.h"
#include "db/engine.h"

#include <string.h>

int tables_read(struct db_tx *tx, struct arena *arena, struct tables *ret, struct error *err) {
    autorows struct db_rows *rows = db_query(tx, err, tx->engine->tables_sql);
    int more;

    if (!rows)
        return -1;
    ret->count = 0;
    while ((more = db_next(rows, err)) > 0) {
        if (ret->count == TABLES_MOST)
            return error_set(err, ERROR_INTERNAL, "more than %d tables", TABLES_MOST);
        ret->names[ret->count++] = db_copy(rows, 0, arena);
    }
    return more;
}

bool table_has_objects(const char *table) {
    return strcmp(table, "schema_version") != 0 && strcmp(table, "sqlite_sequence") != 0;
}

int64_t table_copy(struct db_tx *to, struct db_tx *from, const char *table,
                   reset_progress *progress, void *arg, struct error *err) {
    enum { PROGRESS_ROWS = 1000 };
    autoarena struct arena *arena = arena_new();
    /* rows that reference others of their own table come after those */
    const char *order = strcmp(table, "documents") == 0 ? " ORDER BY first_version" : "";
    autorows struct db_rows *rows =
        db_query(from, err, arena_format(arena, "SELECT * FROM %s%s", table, order));
    unsigned columns = rows ? db_columns(rows) : 0;
    const char *sql =
        arena_format(arena, "INSERT INTO %s VALUES (%s)", table, db_places(arena, 1, columns));
    struct db_value *values = arena_alloc(arena, columns * sizeof(*values));
    int64_t count = 0;
    int more = -1;

    assert(to->writes && to != from);
    while (rows && (more = db_next(rows, err)) > 0) {
        assert(columns > 0);
        for (unsigned i = 0; i < columns; i++)
            values[i] = db_value(rows, i);
        if (db_change_values(to, err, sql, values, columns) < 0)
            return error_context(err, "table %s", table);
        if (++count % PROGRESS_ROWS == 0 && progress)
            progress(arg, table, count);
    }
    return more < 0 ? -1 : count;
}

int rows_replace(struct db_tx *to, struct db_tx *from, struct error *err) {
    autoarena struct arena *arena = arena_new();
    struct tables tables;

    assert(to->writes && to != from);
    if (tables_read(to, arena, &tables, err) < 0)
        return -1;
    for (unsigned i = tables.count; i-- > 0;)
        if (db_run(to, err, arena_format(arena, "DELETE FROM %s", tables.names[i])) < 0)
            return -1;
    for (unsigned i = 0; i < tables.count; i++)
        if (table_copy(to, from, tables.names[i], NULL, NULL, err) < 0)
            return -1;
    return 0;
}
