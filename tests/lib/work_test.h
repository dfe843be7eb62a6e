/*
 * Common to tests of operation/ and model/: a test runs whole inside one transaction, which is
 * undone, on a database in memory, with a clock that stands still and ids that repeat.
 *
 *     WORK_TEST(name_of_the_promise) {
 *         … work … err …
 *     }
 *
 * All helpers assert that they worked.
 */
#pragma once

#include "db/db.h"
#include "model/volume/volume.h"
#include "tests/lib/check_main.h"
#include "tests/lib/postgresql.h"

#include <string.h>

#define NOW_US   INT64_C(1800000000000000)
#define CLOCK_US INT64_C(1700000000000000) /* the database's: far from the displayed times */
#define PROJECT  "0123456789abcdef0123456789abcdef"
#define OTHER    "fedcba9876543210fedcba9876543210"

#define OK(call) ck_assert_msg((call) == 0, "%s", err->message)
#define REFUSED(call, kind_)                        \
    do {                                            \
        ck_assert_int_eq((call), -1);               \
        ck_assert_int_eq(err->kind, ERROR_##kind_); \
    } while (0)

static inline void test_random(void *arg, void *bytes, size_t size) {
    static uint64_t next = 1;

    (void)arg;
    for (size_t i = 0; i < size; i++) {
        next = next * 6364136223846793005U + 1442695040888963407U;
        ((unsigned char *)bytes)[i] = (unsigned char)(next >> 33);
    }
}

static inline int64_t test_now(void *arg) {
    (void)arg;
    return NOW_US;
}

static inline int64_t test_clock_us(void *arg) {
    (void)arg;
    return CLOCK_US;
}

static const struct clock test_clock = {
    .now_us = test_now, .steady_us = test_now, .shared_us = test_clock_us, .random = test_random
};

struct work_fixture {
    struct settings settings;
    struct context context;
};

static inline struct work_fixture test_fixture(void) {
    return (struct work_fixture){
        .settings = {
            .clock = &test_clock,
            .default_volume_type = "__DEFAULT__",
            .storage_availability_zone = "nova",
            .quota_volumes = 10,
            .quota_gigabytes = 1000,
            .quota_snapshots = 10,
            .quota_backups = 10,
            .quota_backup_gigabytes = 1000,
            .quota_groups = 10,
            .per_volume_size_limit = -1,
            .message_ttl_s = 1000,
            .service_down_s = 60,
            .replica_pool_down_s = 30,
        .replica_replacements_most = 2,
            .target_takeover_s = 60,
            .max_over_subscription_ratio = 20,
            .max_limit = 1000,
            .metadata_items = 128,
            .per_volume_attachments = 128,
            .per_project_messages = 1000,
        },
        .context = { .request_id = "req-1", .user_id = "user", .project_id = PROJECT },
    };
}

typedef void test_code(struct work *work, struct error *err);

struct test_run {
    test_code *code;
    struct arena *arena;
    struct work_fixture fixture;
};

static inline int test_body(struct db_tx *tx, void *arg, struct error *err) {
    struct test_run *run = arg;
    struct work work = {
        .tx = tx,
        .arena = run->arena,
        .context = &run->fixture.context,
        .settings = &run->fixture.settings,
        .now_us = NOW_US,
        .clock_us = CLOCK_US,
        .over_us = CLOCK_US,
    };

    run->code(&work, err);
    return error_set(err, ERROR_CONFLICT, "undone");
}

static inline struct db *work_db_open(void) {
    const struct db_settings settings = { .url = database_shared_url(), .inline_writes = true };
    struct error err;
    struct db *db;

    if (db_open(&settings, &db, &err) < 0) {
        fprintf(stderr, "%s\n", err.message);
        abort();
    }
    return db;
}

/* In memory: each test, a process, has a copy of its parent's.  A connection cannot be shared. */
static struct db *work_db;

__attribute__((constructor)) static void work_db_prepare(void) {
    if (!postgresql_given())
        work_db = work_db_open();
}

static inline void run_in_work(test_code *code) {
    autoarena struct arena *arena = arena_new();
    struct test_run run = { code, arena, test_fixture() };
    struct db *db = work_db ? work_db : work_db_open();
    struct error err = { 0 };

    ck_assert_int_eq(db_transaction(db, test_body, &run, &err), -1);
    ck_assert_str_eq(err.message, "undone");
    if (db != work_db)
        db_close(db);
}

#define WORK_TEST(name)                                            \
    static void name##_code(struct work *work, struct error *err); \
    START_TEST(name) {                                             \
        run_in_work(name##_code);                                  \
    }                                                              \
    END_TEST                                                       \
    static void name##_code(struct work *work, struct error *err)

/* The settings and the caller of the running test, to be changed by it. */
static inline struct settings *settings_of(struct work *work) {
    return (struct settings *)(uintptr_t)work->settings;
}
static inline struct context *context_of(struct work *work) {
    return (struct context *)(uintptr_t)work->context;
}

__attribute__((format(printf, 2, 3))) static inline int sql(struct work *work, const char *format,
                                                            ...) {
    struct error err = { 0 };
    va_list values;
    const char *text;
    int changed;

    va_start(values, format);
    text = arena_vformat(work->arena, format, values);
    va_end(values);
    changed = db_run(work->tx, &err, text);
    ck_assert_msg(changed >= 0, "%s: %s", text, err.message);
    return changed;
}

/* The number that a query gives; -12345 when there is no row. */
__attribute__((format(printf, 2, 3))) static inline int64_t sql_int(struct work *work,
                                                                    const char *format, ...) {
    struct error err = { 0 };
    int64_t number = -12345;
    va_list values;
    const char *text;

    va_start(values, format);
    text = arena_vformat(work->arena, format, values);
    va_end(values);
    ck_assert_msg(db_query_int(work->tx, &number, &err, text) >= 0, "%s: %s", text, err.message);
    return number;
}

/* Everything in a table as one number, to compare that nothing has changed. */
static inline int64_t rows_of(struct work *work, const char *table) {
    return sql_int(work, "SELECT COUNT(*) FROM %s", table);
}

/* A database that fails: the table is gone until it comes back. */
static inline void hide_table(struct work *work, const char *table) {
    sql(work, "ALTER TABLE %s RENAME TO hidden", table);
}
static inline void show_table(struct work *work, const char *table) {
    sql(work, "ALTER TABLE hidden RENAME TO %s", table);
}
/* The call fails with ERROR_INTERNAL while the table is away. */
#define FAILS_WITHOUT(table, call)                   \
    do {                                             \
        hide_table(work, table);                     \
        ck_assert_int_eq((call), -1);                \
        ck_assert_int_eq(err->kind, ERROR_INTERNAL); \
        show_table(work, table);                     \
    } while (0)

/* The call fails with ERROR_INTERNAL while the first row of the table cannot be read. */
#define FAILS_READING(table, call)                     \
    do {                                               \
        hide_table(work, table);                       \
        sql(work,                                      \
            "CREATE VIEW %s AS SELECT * FROM hidden "  \
            "WHERE abs(-9223372036854775807 - 1) > 0", \
            table);                                    \
        ck_assert_int_eq((call), -1);                  \
        ck_assert_int_eq(err->kind, ERROR_INTERNAL);   \
        sql(work, "DROP VIEW %s", table);              \
        show_table(work, table);                       \
    } while (0)

static inline void put_volume(struct work *work, const char *id, const char *project,
                              const char *type_id, int64_t size_gb, bool use_quota,
                              const char *host) {
    struct error err = { 0 };

    ck_assert_msg(
        db_run(work->tx, &err,
               "INSERT INTO volumes (id, project_id, user_id, host, availability_zone, size_gb, "
               "largest_gb, status, status_by_reset, attach_status, volume_type_id, bootable, "
               "multiattach, use_quota, created_at) "
               "VALUES ($1, $2, 'user', $3, 'nova', $4, $4, 'available', 0, 'detached', $5, 0, 0, "
               "$6, 1)",
               DB_TEXT(id), DB_TEXT(project), DB_TEXT(host), DB_INT(size_gb), DB_TEXT(type_id),
               DB_BOOL(use_quota)) == 1,
        "%s", err.message);
}

static inline void put_operation(struct work *work, const char *id, const char *kind,
                                 const char *volume_id, int64_t new_size_gb) {
    struct error err = { 0 };

    ck_assert_msg(
        db_run(work->tx, &err,
               "INSERT INTO operations (id, kind, target_id, volume_id, host, phase, project_id, "
               "user_id, request_id, new_size_gb, attempts, created_at) VALUES ($1, $2, $3, $3, "
               "'node@b', 'queued', '" PROJECT "', 'user', 'req-1', $4, 0, 1)",
               DB_TEXT(id), DB_TEXT(kind), DB_TEXT(volume_id), DB_INT(new_size_gb)) == 1,
        "%s", err.message);
}
