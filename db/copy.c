#include "db/copy.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/words.h"
#include "db/engine.h"
#include "db/migrate.h"

/* An empty database has a row in these, too: it is replaced by the source's. */
static const char *const filled[] = { "clock", "document_versions" };

static int rows_count(struct db_tx *tx, struct arena *arena, const char *table, int64_t *ret,
                      struct error *err) {
    return db_query_int(tx, ret, err, arena_format(arena, "SELECT COUNT(*) FROM %s", table));
}

static int target_check(struct db_tx *tx, struct arena *arena, const struct tables *tables,
                        struct error *err) {
    assert(tables->count <= TABLES_MOST);
    for (unsigned i = 0; i < tables->count; i++) {
        int64_t rows = 0;

        if (!table_has_objects(tables->names[i]) ||
            words_have(filled, LENGTH(filled), tables->names[i]))
            continue;
        if (rows_count(tx, arena, tables->names[i], &rows, err) < 0)
            return error_context(err, "table %s", tables->names[i]);
        if (rows > 0)
            return error_set(err, ERROR_CONFLICT,
                             "The target is not empty: its table %s has %lld rows.",
                             tables->names[i], (long long)rows);
    }
    return 0;
}

static int table_move(struct db_tx *to, struct db_tx *from, struct copy *copy, const char *table,
                      struct error *err) {
    struct copy_table *done = &copy->tables[copy->count++];
    int64_t found = -1;

    assert(copy->count < LENGTH(copy->tables));
    done->name = table;
    done->rows = table_copy(to, from, table, copy->progress, copy->arg, err);
    if (done->rows < 0 || rows_count(to, copy->arena, table, &found, err) < 0)
        return -1;
    if (found != done->rows)
        return error_set(err, ERROR_INTERNAL, "table %s: %lld rows were copied, %lld arrived",
                         table, (long long)done->rows, (long long)found);
    return to->engine->serial_go_on(to, table, err);
}

struct move {
    struct copy *copy;
    struct db_tx *from;
    struct tables tables;
};

/* May run again. */
static int to_body(struct db_tx *to, void *arg, struct error *err) {
    struct move *move = arg;
    struct copy *copy = move->copy;

    copy->count = 0;
    if (target_check(to, copy->arena, &move->tables, err) < 0)
        return -1;
    for (size_t i = 0; i < LENGTH(filled); i++)
        if (db_run(to, err, arena_format(copy->arena, "DELETE FROM %s", filled[i])) < 0)
            return -1;
    for (unsigned i = 0; i < move->tables.count; i++)
        if (table_has_objects(move->tables.names[i]) &&
            table_move(to, move->from, copy, move->tables.names[i], err) < 0)
            return -1;
    /* The clock continues from the stored instants on the next server or boot. */
    return db_change(to, err, "UPDATE clock SET base = ''");
}

static int from_body(struct db_tx *from, void *arg, struct error *err) {
    struct copy *copy = arg;
    struct move move = { .copy = copy, .from = from };

    if (tables_read(from, copy->arena, &move.tables, err) < 0)
        return -1;
    return db_transaction(copy->to, to_body, &move, err);
}

int copy_database(struct copy *copy, struct error *err) {
    return db_read(copy->from, from_body, copy, err);
}

static int check_target_body(struct db_tx *tx, void *arg, struct error *err) {
    autoarena struct arena *arena = arena_new();
    struct tables tables;

    (void)arg;
    return migrate_refuse(tx, err) < 0 || tables_read(tx, arena, &tables, err) < 0
               ? -1
               : target_check(tx, arena, &tables, err);
}

int copy_check_target(struct db *db, struct error *err) {
    return db_read(db, check_target_body, NULL, err);
}

static int number_body(struct db_tx *tx, void *arg, struct error *err) {
    return migrate_number(tx, arg, err);
}

int copy_schema_number(struct db *db, int64_t *ret, struct error *err) {
    return db_read(db, number_body, ret, err) < 0 ? -1 : 0;
}
