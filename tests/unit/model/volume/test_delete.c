#include "model/volume/delete.h"

#include "model/snapshot/delete.h"
#include "model/snapshot/snapshot.h"
#include "tests/lib/work_test.h"

/* The tables of the schema that belong to an object: those with a column for its id. */
struct parts {
    char names[16][64];
    unsigned count;
};

/* `others`: tables with that column whose rows are deleted before, or elsewhere. */
static struct parts parts_with(struct work *work, const char *column, const char *others) {
    struct parts parts = { .count = 0 };
    struct error err = { 0 };
    autorows struct db_rows *rows =
        db_query(work->tx, &err,
                 "SELECT m.name FROM sqlite_master m, pragma_table_info(m.name) c "
                 "WHERE m.type = 'table' AND c.name = $1 AND instr($2, m.name || ' ') = 0",
                 DB_TEXT(column), DB_TEXT(others));

    while (db_next(rows, &err) > 0) {
        ck_assert_uint_lt(parts.count, 16);
        snprintf(parts.names[parts.count++], 64, "%s", db_text(rows, 0));
    }
    ck_assert_int_eq(err.kind, ERROR_NONE);
    return parts;
}

/* A row whose mandatory columns have any value, the id where it is text. */
static void put_part(struct work *work, const char *table, const char *column, const char *id) {
    const char *columns = "", *values = "";
    struct error err = { 0 };
    autorows struct db_rows *rows =
        db_query(work->tx, &err,
                 "SELECT name, type FROM pragma_table_info($1) WHERE \"notnull\" = 1 OR pk > 0 OR "
                 "name = $2",
                 DB_TEXT(table), DB_TEXT(column));

    while (db_next(rows, &err) > 0) {
        const char *comma = *columns ? ", " : "", *name = db_text(rows, 0);

        columns = arena_format(work->arena, "%s%s%s", columns, comma, name);
        values = arena_format(work->arena, "%s%s'%s'", values, comma,
                              strcmp(db_text(rows, 1), "TEXT") == 0 ? id : "1");
    }
    ck_assert_int_eq(sql(work, "INSERT INTO %s (%s) VALUES (%s)", table, columns, values), 1);
}

static void put_parts(struct work *work, const struct parts *parts, const char *column) {
    for (unsigned i = 0; i < parts->count; i++) {
        put_part(work, parts->names[i], column, "gone");
        put_part(work, parts->names[i], column, "kept");
    }
}

static void assert_parts(struct work *work, const struct parts *parts, const char *column) {
    for (unsigned i = 0; i < parts->count; i++) {
        ck_assert_msg(sql_int(work, "SELECT COUNT(*) FROM %s WHERE %s = 'gone'", parts->names[i],
                              column) == 0,
                      "rows are left in %s", parts->names[i]);
        ck_assert_msg(sql_int(work, "SELECT COUNT(*) FROM %s WHERE %s = 'kept'", parts->names[i],
                              column) == 1,
                      "another object's row of %s is gone", parts->names[i]);
    }
}

static void put_two_volumes(struct work *work) {
    put_volume(work, "gone", PROJECT, NULL, 1, true, NULL);
    put_volume(work, "kept", PROJECT, NULL, 1, true, NULL);
}

/* A table that is missing in volume_delete_row() keeps the volume, or leaves rows of none. */
WORK_TEST(a_deleted_volume_leaves_no_row_in_any_table) {
    struct volume volume;
    struct parts parts;

    if (postgresql_given())
        return; /* the schema is one text for both engines */
    put_two_volumes(work);
    parts = parts_with(work, "volume_id", "snapshots ");
    ck_assert_uint_ge(parts.count, 7);
    put_parts(work, &parts, "volume_id");

    OK(volume_row(work, "gone", &volume, err));
    OK(volume_delete_row(work, &volume, err));

    ck_assert_int_eq(rows_of(work, "volumes"), 1);
    assert_parts(work, &parts, "volume_id");
}

static void put_snapshot(struct work *work, const char *id) {
    put_part(work, "snapshots", "volume_id", "kept");
    sql(work, "UPDATE snapshots SET id = '%s', status = 'deleting' WHERE id = 'kept'", id);
}

WORK_TEST(a_deleted_snapshot_leaves_no_row_in_any_table) {
    struct snapshot snapshot;
    struct parts parts;

    if (postgresql_given())
        return;
    put_two_volumes(work);
    put_snapshot(work, "gone");
    put_snapshot(work, "kept");
    parts = parts_with(work, "snapshot_id", "volumes ");
    ck_assert_uint_ge(parts.count, 1);
    put_parts(work, &parts, "snapshot_id");

    OK(snapshot_row(work, "gone", &snapshot, err));
    OK(snapshot_delete_done(work, &snapshot, err));

    ck_assert_int_eq(rows_of(work, "snapshots"), 1);
    assert_parts(work, &parts, "snapshot_id");
}

CHECK_MAIN("delete", a_deleted_volume_leaves_no_row_in_any_table,
           a_deleted_snapshot_leaves_no_row_in_any_table)
