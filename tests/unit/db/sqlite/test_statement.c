#include "db/sqlite/statement.h"

#include "tests/unit/db/scratch.h"

static struct db *memory_db(void) {
    struct db *db = scratch_open(database_url(), true);

    sql_run(db, "CREATE TABLE item (id BIGINT PRIMARY KEY, name TEXT, weight DOUBLE PRECISION)");
    return db;
}

static void in_transaction(struct db *db, db_body *body) {
    struct error err = { 0 };

    ck_assert_msg(db_transaction(db, body, NULL, &err) == 0, "%s", err.message);
}

static int places_body(struct db_tx *tx, void *arg, struct error *err) {
    autorows struct db_rows *rows = NULL;

    (void)arg;
    ck_assert_int_eq(
        db_run(tx, err, "INSERT INTO item (name, id) VALUES ($2, $1)", DB_INT(1), DB_TEXT("one")),
        1);
    rows = db_query(tx, err,
                    "SELECT name, '$1', \"id\" FROM item WHERE id = $2 AND $2 = $2 AND name <> $1",
                    DB_TEXT("two"), DB_INT(1));
    ck_assert_int_eq(db_next(rows, err), 1);
    ck_assert_str_eq(db_text(rows, 0), "one");
    ck_assert_str_eq(db_text(rows, 1), "$1");
    ck_assert_int_eq(db_int(rows, 2), 1);
    ck_assert_int_eq(db_next(rows, err), 0);
    return 0;
}

START_TEST(parameters_are_bound_by_number_in_any_order) {
    struct db *db = memory_db();

    in_transaction(db, places_body);
    db_close(db);
}
END_TEST

static int types_body(struct db_tx *tx, void *arg, struct error *err) {
    autoarena struct arena *arena = arena_new();
    autorows struct db_rows *rows = NULL;

    (void)arg;
    db_run(tx, err, "INSERT INTO item VALUES ($1, $2, $3)", DB_INT(INT64_MAX), DB_TEXT(NULL),
           ((struct db_value){ .type = DB_VALUE_REAL, .real = 0.5 }));
    db_run(tx, err, "INSERT INTO item VALUES ($1, $2, $3)", DB_BOOL(false), DB_TEXT("ä"),
           DB_TIME(0));
    rows = db_query(tx, err, "SELECT id, name, weight FROM item ORDER BY id");
    ck_assert_int_eq(db_next(rows, err), 1);
    ck_assert(!db_bool(rows, 0));
    ck_assert_str_eq(db_copy(rows, 1, arena), "ä");
    ck_assert(db_is_null(rows, 2));
    ck_assert_int_eq(db_int(rows, 2), 0);
    ck_assert_int_eq(db_next(rows, err), 1);
    ck_assert_int_eq(db_int(rows, 0), INT64_MAX);
    ck_assert(db_bool(rows, 0));
    ck_assert_ptr_null(db_text(rows, 1));
    ck_assert_ptr_null(db_copy(rows, 1, arena));
    ck_assert_str_eq(db_text(rows, 2), "0.5");
    return 0;
}

START_TEST(values_come_back_as_they_went_in) {
    struct db *db = memory_db();

    in_transaction(db, types_body);
    db_close(db);
}
END_TEST

static int changes_body(struct db_tx *tx, void *arg, struct error *err) {
    (void)arg;
    ck_assert_int_eq(db_run(tx, err, "INSERT INTO item VALUES (1, 'a', 1), (2, 'b', 1)"), 2);
    ck_assert_int_eq(db_run(tx, err, "UPDATE item SET name = 'c' WHERE id > $1", DB_INT(1)), 1);
    ck_assert_int_eq(db_run(tx, err, "DELETE FROM item WHERE id > $1", DB_INT(7)), 0);
    return 0;
}

START_TEST(run_returns_the_number_of_changed_rows) {
    struct db *db = memory_db();

    in_transaction(db, changes_body);
    db_close(db);
}
END_TEST

/* The same text in its own rows, as in a walk through a tree. */
static int nested_body(struct db_tx *tx, void *arg, struct error *err) {
    static const char sql[] = "SELECT id FROM item WHERE id > $1 ORDER BY id";
    autorows struct db_rows *outer = NULL;
    int seen = 0;

    (void)arg;
    db_run(tx, err, "INSERT INTO item (id) VALUES (1), (2), (3)");
    outer = db_query(tx, err, sql, DB_INT(0));
    while (db_next(outer, err) > 0) {
        autorows struct db_rows *inner = db_query(tx, err, sql, DB_INT(db_int(outer, 0)));

        while (db_next(inner, err) > 0)
            seen += (int)(db_int(outer, 0) * 10 + db_int(inner, 0));
    }
    ck_assert_int_eq(seen, 12 + 13 + 23);
    return 0;
}

START_TEST(a_query_inside_its_own_rows_has_its_own_place) {
    struct db *db = memory_db();

    in_transaction(db, nested_body);
    db_close(db);
}
END_TEST

static int changed_text_body(struct db_tx *tx, void *arg, struct error *err) {
    char name[] = "abc";
    autorows struct db_rows *rows = NULL;

    (void)arg;
    db_run(tx, err, "INSERT INTO item (id, name) VALUES (1, 'abc')");
    rows = db_query(tx, err, "SELECT id FROM item WHERE name = $1", DB_TEXT(name));
    name[0] = 'X';
    ck_assert_int_eq(db_next(rows, err), 1);
    return 0;
}

START_TEST(a_query_keeps_its_values) {
    struct db *db = memory_db();

    in_transaction(db, changed_text_body);
    db_close(db);
}
END_TEST

/* One buffer for ever new texts: an address is not an identity. */
static int many_body(struct db_tx *tx, void *arg, struct error *err) {
    char sql[64];

    (void)arg;
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 3 * STATEMENTS_MOST; i++) {
            int64_t value = -1;

            snprintf(sql, sizeof(sql), "SELECT %d + $1", i);
            ck_assert_int_eq(db_query_int(tx, &value, err, sql, DB_INT(round)), 1);
            ck_assert_int_eq(value, i + round);
        }
    return 0;
}

START_TEST(more_texts_than_are_kept_still_run) {
    struct db *db = memory_db();

    in_transaction(db, many_body);
    db_close(db);
}
END_TEST

/* More rows open at once than are kept: the last ones live without the cache. */
static int open_body(struct db_tx *tx, void *arg, struct error *err) {
    struct db_rows *rows[STATEMENTS_MOST + 3];
    char sql[64];

    (void)arg;
    for (int i = 0; i < STATEMENTS_MOST + 3; i++) {
        snprintf(sql, sizeof(sql), "SELECT %d", i);
        rows[i] = db_query(tx, err, sql);
        ck_assert_int_eq(db_next(rows[i], err), 1);
    }
    for (int i = 0; i < STATEMENTS_MOST + 3; i++) {
        ck_assert_int_eq(db_int(rows[i], 0), i);
        db_rows_end(rows[i]);
    }
    return 0;
}

START_TEST(more_rows_open_than_are_kept_still_read) {
    struct db *db = memory_db();

    in_transaction(db, open_body);
    db_close(db);
}
END_TEST

static int bad_sql_body(struct db_tx *tx, void *arg, struct error *err) {
    (void)arg;
    ck_assert_ptr_null(db_query(tx, err, "SELECT id FROM nowhere"));
    ck_assert_int_eq(err->kind, ERROR_INTERNAL);
    ck_assert_ptr_nonnull(strstr(err->message, "The database failed: "));
    ck_assert_ptr_nonnull(strstr(err->message, "nowhere"));
    return 0;
}

START_TEST(wrong_sql_is_an_internal_error) {
    struct db *db = memory_db();
    struct error err = { 0 };

    /* On PostgreSQL a body that goes on after a failure is not committed. */
    ck_assert_int_eq(db_transaction(db, bad_sql_body, NULL, &err), postgresql_given() ? -1 : 0);
    db_close(db);
}
END_TEST

static int too_long_body(struct db_tx *tx, void *arg, struct error *err) {
    char text[200];

    (void)arg;
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    sqlite3_limit(((struct sqlite_tx *)tx)->connection->handle, SQLITE_LIMIT_LENGTH, 100);
    ck_assert_ptr_null(db_query(tx, err, "SELECT $1", DB_TEXT(text)));
    ck_assert_ptr_nonnull(strstr(err->message, "too big"));
    return db_query_int(tx, &(int64_t){ 0 }, err, "SELECT $1", DB_TEXT("1")) < 0 ? -1 : 0;
}

START_TEST(a_value_too_long_for_the_engine_is_refused) {
    if (postgresql_given())
        return; /* SQLite's own */
    struct db *db = memory_db();

    in_transaction(db, too_long_body);
    db_close(db);
}
END_TEST

static int int_body(struct db_tx *tx, void *arg, struct error *err) {
    int64_t value = 77;

    (void)arg;
    ck_assert_int_eq(db_query_int(tx, &value, err, "SELECT id FROM item WHERE id = $1", DB_INT(1)),
                     0);
    ck_assert_int_eq(db_query_int(tx, &value, err, "SELECT MAX(id) FROM item"), 0);
    ck_assert_int_eq(value, 77);
    ck_assert_int_eq(db_query_int(tx, &value, err, "SELECT COUNT(*) FROM item"), 1);
    ck_assert_int_eq(value, 0);
    if (!postgresql_given()) /* a failure would end the transaction */
        ck_assert_int_eq(db_query_int(tx, &value, err, "SELECT 1 FROM nowhere"), -1);
    return 0;
}

START_TEST(query_int_distinguishes_a_row_from_none) {
    struct db *db = memory_db();

    in_transaction(db, int_body);
    db_close(db);
}
END_TEST

static int wrong_count_body(struct db_tx *tx, void *arg, struct error *err) {
    (void)arg;
    return db_run(tx, err, "INSERT INTO item (id, name) VALUES ($1, $2)", DB_INT(1));
}

static int write_body(struct db_tx *tx, void *arg, struct error *err) {
    (void)arg;
    return db_run(tx, err, "INSERT INTO item (id) VALUES (1)");
}

static int leak_body(struct db_tx *tx, void *arg, struct error *err) {
    (void)arg;
    return db_query(tx, err, "SELECT 1") ? 0 : -1;
}

static void wrong_count(void) {
    db_transaction(memory_db(), wrong_count_body, NULL, NULL);
}

static void write_in_read(void) {
    db_read(memory_db(), write_body, NULL, NULL);
}

static void rows_left_open(void) {
    db_transaction(memory_db(), leak_body, NULL, NULL);
}

START_TEST(broken_promises_of_bodies_stop_the_process) {
    if (postgresql_given())
        return; /* SQLite's own */
    ck_assert(dies(wrong_count));
    ck_assert(dies(write_in_read));
    ck_assert(dies(rows_left_open));
}
END_TEST

CHECK_MAIN("statement", parameters_are_bound_by_number_in_any_order,
           values_come_back_as_they_went_in, run_returns_the_number_of_changed_rows,
           a_query_inside_its_own_rows_has_its_own_place, a_query_keeps_its_values,
           more_texts_than_are_kept_still_run, more_rows_open_than_are_kept_still_read,
           wrong_sql_is_an_internal_error, a_value_too_long_for_the_engine_is_refused,
           query_int_distinguishes_a_row_from_none, broken_promises_of_bodies_stop_the_process)
