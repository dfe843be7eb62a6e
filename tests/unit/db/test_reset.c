#include "db/reset.h"

#include "db/schema.h"
#include "tests/unit/db/scratch.h"

START_TEST(a_used_world_becomes_the_pristine_one) {
    struct db *pristine = scratch_open(database_url(), true);
    struct db *db = scratch_open(database_url(), true);
    struct error err = { 0 };

    sql_run(pristine, "INSERT INTO volume_types (id, name, is_public, created_at) "
                      "VALUES ('t1', 'gold', 1, 5)");
    sql_run(pristine, "INSERT INTO volume_type_extra_specs VALUES ('t1', 'k', NULL)");
    sql_run(pristine, "INSERT INTO pools VALUES ('p', 'h', '{}', 1.5, NULL, 0, 0, 9, 0)");
    sql_run(db, "INSERT INTO volume_types (id, name, is_public, created_at) "
                "VALUES ('t2', 'silver', 1, 5)");
    sql_run(db, "INSERT INTO volume_type_extra_specs VALUES ('t2', 'k', 'v')");
    sql_run(db, "INSERT INTO outbox (topic, method, key, payload, created_at) "
                "VALUES ('t', 'm', 'k', '{}', 1)");
    ck_assert_msg(db_reset_from(db, pristine, &err) == 0, "%s", err.message);
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM outbox"), 0);
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM volume_types"), 1);
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM volume_types WHERE name = 'gold'"), 1);
    ck_assert_int_eq(
        sql_int(db,
                "SELECT CASE WHEN value IS NULL THEN 1 ELSE 0 END FROM volume_type_extra_specs"),
        1);
    ck_assert_int_eq(sql_int(db, "SELECT total_gb * 2 FROM pools WHERE free_gb IS NULL"), 3);
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM schema_version"), schema_text_count);
    sql_run(db, "INSERT INTO outbox (topic, method, key, payload, created_at) "
                "VALUES ('t', 'm', 'k', '{}', 1)");
    ck_assert_int_eq(sql_int(db, "SELECT id FROM outbox"), 1); /* the numbers restart, too */
    db_close(db);
    db_close(pristine);
}
END_TEST

START_TEST(a_reset_that_fails_changes_nothing) {
    struct db *pristine = scratch_open(database_url(), true);
    struct db *db = scratch_open(database_url(), true);
    struct error err = { 0 };

    sql_run(db, "INSERT INTO quotas VALUES ('p', 'volumes', 3)");
    sql_run(pristine, "DROP TABLE quotas");
    ck_assert_int_eq(db_reset_from(db, pristine, &err), -1);
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM quotas"), 1);
    sql_run(pristine, "CREATE TABLE quotas (one TEXT)");
    sql_run(pristine, "INSERT INTO quotas VALUES ('p')");
    ck_assert_int_eq(db_reset_from(db, pristine, &err), -1);
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM quotas"), 1);
    db_close(db);
    db_close(pristine);
}
END_TEST

START_TEST(tables_that_cannot_be_emptied_in_order_are_an_error) {
    if (postgresql_given())
        return; /* there no table refers to a later one */
    struct db *pristine = scratch_open(database_url(), true);
    struct db *db = scratch_open(database_url(), true);
    struct error err = { 0 };

    sql_run(db, "CREATE TABLE early (id TEXT REFERENCES late (id))");
    sql_run(db, "CREATE TABLE late (id TEXT PRIMARY KEY)");
    sql_run(db, "INSERT INTO late VALUES ('x')");
    sql_run(db, "INSERT INTO early VALUES ('x')");
    ck_assert_int_eq(db_reset_from(db, pristine, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_COLLISION);
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM early"), 1);
    for (int i = 0; i < 64; i++) {
        char sql[40];

        snprintf(sql, sizeof(sql), "CREATE TABLE t%d (id TEXT)", i);
        sql_run(db, sql);
    }
    ck_assert_int_eq(db_reset_from(db, pristine, &err), -1);
    ck_assert_str_eq(err.message, "more than 64 tables");
    db_close(db);
    db_close(pristine);
}
END_TEST

CHECK_MAIN("reset", a_used_world_becomes_the_pristine_one, a_reset_that_fails_changes_nothing,
           tables_that_cannot_be_emptied_in_order_are_an_error)
