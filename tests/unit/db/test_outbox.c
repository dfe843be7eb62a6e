#include "db/outbox.h"

#include "tests/unit/db/scratch.h"

static int put_body(struct db_tx *tx, void *arg, struct error *err) {
    (void)arg;
    for (int i = 0; i < 5; i++) {
        char key[16];
        struct outbox_message message = {
            .topic = "topic", .method = "extend_volume", .key = key, .payload = "{\"a\": 1}"
        };

        snprintf(key, sizeof(key), "k%d", i);
        message.project = i == 1 ? "p1" : NULL;
        message.created_at = 1000 + i;
        if (outbox_put(tx, &message, err) < 0)
            return -1;
    }
    return 0;
}

static int read_body(struct db_tx *tx, void *arg, struct error *err) {
    autoarena struct arena *arena = arena_new();
    struct outbox_message *messages = NULL;

    (void)arg;
    ck_assert_int_eq(outbox_read(tx, arena, 0, 3, &messages, err), 3);
    ck_assert_str_eq(messages[0].topic, "topic");
    ck_assert_str_eq(messages[0].method, "extend_volume");
    ck_assert_str_eq(messages[0].key, "k0");
    ck_assert_str_eq(messages[0].payload, "{\"a\": 1}");
    ck_assert_str_eq(messages[0].project, "");
    ck_assert_str_eq(messages[1].project, "p1");
    ck_assert_int_lt(messages[0].id, messages[1].id);
    ck_assert_int_eq(outbox_read(tx, arena, messages[2].id, 3, &messages, err), 2);
    ck_assert_str_eq(messages[1].key, "k4");
    ck_assert_int_eq(outbox_read(tx, arena, messages[1].id, 3, &messages, err), 0);
    return 0;
}

static int delete_body(struct db_tx *tx, void *arg, struct error *err) {
    const int64_t ids[] = { 1, 3, 99 };

    (void)arg;
    return outbox_delete(tx, ids, LENGTH(ids), err) == 2 ? 0 : -1;
}

static int delete_one_body(struct db_tx *tx, void *arg, struct error *err) {
    const int64_t id = 4;

    (void)arg;
    return outbox_delete(tx, &id, 1, err) == 1 ? 0 : -1;
}

START_TEST(messages_are_read_in_order_and_deleted_one_by_one) {
    struct db *db = scratch_open(database_url(), true);
    struct error err;

    ck_assert_int_eq(db_transaction(db, put_body, NULL, &err), 0);
    ck_assert_int_eq(sql_int(db, "SELECT created_at FROM outbox WHERE key = 'k2'"), 1002);
    ck_assert_int_eq(db_read(db, read_body, NULL, &err), 0);
    ck_assert_int_eq(db_transaction(db, delete_body, NULL, &err), 0);
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM outbox"), 3);
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM outbox WHERE id IN (1, 3)"), 0);
    ck_assert_int_eq(db_transaction(db, delete_one_body, NULL, &err), 0);
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM outbox WHERE id IN (2, 5)"), 2);
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM outbox"), 2);
    db_close(db);
}
END_TEST

START_TEST(an_id_is_never_given_twice) {
    struct db *db = scratch_open(database_url(), true);
    struct error err;

    ck_assert_int_eq(db_transaction(db, put_body, NULL, &err), 0);
    sql_run(db, "DELETE FROM outbox");
    ck_assert_int_eq(db_transaction(db, put_body, NULL, &err), 0);
    ck_assert_int_eq(sql_int(db, "SELECT MIN(id) FROM outbox"), 6);
    db_close(db);
}
END_TEST

static int all_fail_body(struct db_tx *tx, void *arg, struct error *err) {
    autoarena struct arena *arena = arena_new();
    struct outbox_message *messages = NULL;

    ck_assert_int_ge(db_run(tx, err, "ALTER TABLE outbox RENAME TO hidden"), 0);
    ck_assert_int_eq(put_body(tx, arg, err), -1);
    ck_assert_int_eq(outbox_read(tx, arena, 0, 3, &messages, err), -1);
    ck_assert_ptr_null(messages);
    return delete_body(tx, arg, err);
}

START_TEST(failures_are_passed_on) {
    struct db *db = scratch_open(database_url(), true);
    struct error err;

    ck_assert_int_eq(db_transaction(db, all_fail_body, NULL, &err), -1);
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM outbox"), 0);
    db_close(db);
}
END_TEST

CHECK_MAIN("outbox", messages_are_read_in_order_and_deleted_one_by_one, an_id_is_never_given_twice,
           failures_are_passed_on)
