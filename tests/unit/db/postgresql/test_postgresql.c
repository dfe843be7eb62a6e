/*
 * Promises of PostgreSQL alone; those of db.h are tested with both engines by the other tests of
 * this folder.  Without SCORIA_TEST_POSTGRESQL only the URLs are tested.
 */
#include "db/postgresql/postgresql.h"

#include "db/copy.h"
#include "db/outbox.h"
#include "db/postgresql/clock.h"
#include "db/postgresql/commit.h"
#include "db/schema.h"
#include "tests/unit/db/scratch.h"

#include <semaphore.h>
#include <stdatomic.h>

static const char count_items[] = "SELECT COUNT(*) FROM item";

static struct db *items_open(const char *url, bool inline_writes) {
    struct db *db = scratch_open(url, inline_writes);

    sql_run(db, "CREATE TABLE item (id BIGINT PRIMARY KEY, value BIGINT)");
    return db;
}

static struct db *second_open(const char *url) {
    return scratch_open(url, false);
}

/* Sessions that doom() ends, and no other test's. */
static const char *doomed_url(void) {
    static char url[512];

    snprintf(url, sizeof(url), "%s&application_name=doomed%jd", database_url(), (intmax_t)getpid());
    return url;
}

static void doom(const char *which) {
    char sql[256];

    snprintf(sql, sizeof(sql),
             "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
             "WHERE application_name = 'doomed%jd' AND state LIKE '%s%%'",
             (intmax_t)getpid(), which);
    postgresql_sql(sql);
}

/* ---- URLs ---- */

START_TEST(no_url_shows_its_password) {
    static const char *const urls[] = {
        "postgresql://me:sec/ret@127.0.0.1:1/x",     "postgresql://me:12/sec@ret@127.0.0.1:1/x",
        "postgres://me:secret@127.0.0.1:1/x?what=7", "postgresql+psycopg2://me:secret@[::1/x",
        "postgresql://me:secret@127.0.0.1:1/x",
    };

    for (size_t i = 0; i < LENGTH(urls); i++) {
        const struct db_settings settings = { .url = urls[i] };
        struct error err = { 0 };
        struct db *db;

        ck_assert_int_eq(db_open(&settings, &db, &err), -1);
        ck_assert_msg(!strstr(err.message, "sec") && !strstr(err.message, "ret@"), "%s",
                      err.message);
        ck_assert_int_eq(err.kind, i + 1 < LENGTH(urls) ? ERROR_BAD_REQUEST : ERROR_UNAVAILABLE);
    }
}
END_TEST

START_TEST(a_url_names_host_and_database) {
    struct session_settings settings;
    struct error err = { 0 };

    ck_assert_int_eq(session_settings_read(
                         "postgresql+psycopg2://me:p%40ss@db.example:6432/cinder?sslmode=require",
                         &settings, &err),
                     0);
    ck_assert_str_eq(settings.where, "postgresql://db.example:6432/cinder");
    session_settings_free(&settings);
}
END_TEST

/* ---- refusals at the start ---- */

static enum error_kind open_refused(const char *url, const char *words) {
    const struct db_settings settings = { .url = url, .inline_writes = true };
    struct error err = { 0 };
    struct db *db;

    ck_assert_int_eq(db_open(&settings, &db, &err), -1);
    ck_assert_msg(strstr(err.message, words) != NULL, "%s", err.message);
    return err.kind;
}

START_TEST(a_newer_schema_is_refused) {
    const char *url = database_url();
    struct db *db = scratch_open(url, true);

    sql_run(db, "UPDATE schema_version SET number = 999");
    db_close(db);
    ck_assert_int_eq(open_refused(url, "999"), ERROR_BAD_REQUEST);
}
END_TEST

/* As PostGIS' table is one of its extension.  Every database has plpgsql. */
START_TEST(tables_of_extensions_are_no_other_program) {
    const char *url = database_url();
    const char *schema = strstr(url, "search_path%3D") + strlen("search_path%3D");
    char sql[512];
    struct db *db;

    snprintf(sql, sizeof(sql),
             "CREATE TABLE %s.spatial_ref_sys AS SELECT 4326 AS srid;"
             "ALTER EXTENSION plpgsql ADD TABLE %s.spatial_ref_sys",
             schema, schema);
    postgresql_sql(sql);
    db = scratch_open(url, true);
    ck_assert_int_eq(sql_int(db, "SELECT srid FROM spatial_ref_sys"), 4326);
    db_close(db);
    /* the same table of a program */
    snprintf(sql, sizeof(sql), "ALTER EXTENSION plpgsql DROP TABLE %s.spatial_ref_sys", schema);
    postgresql_sql(sql);
    snprintf(sql, sizeof(sql), "DROP TABLE %s.schema_version", schema);
    postgresql_sql(sql);
    ck_assert_int_eq(open_refused(url, "\"spatial_ref_sys\""), ERROR_BAD_REQUEST);
}
END_TEST

START_TEST(a_database_in_another_order_is_refused) {
    static const struct {
        const char *words, *line;
    } orders[] = {
        { "ENCODING 'SQL_ASCII' LOCALE 'C'", "encoding SQL_ASCII" },
        { "ENCODING 'UTF8' LOCALE 'C' LOCALE_PROVIDER icu ICU_LOCALE 'en-US'", "order ICU en-US" },
    };
    const char *base = getenv("SCORIA_TEST_POSTGRESQL");
    char url[512], name[64], text[256];

    for (size_t i = 0; i < LENGTH(orders); i++) {
        snprintf(name, sizeof(name), "order%zu_%jd", i, (intmax_t)getpid());
        snprintf(url, sizeof(url), "%.*s%s", (int)(strrchr(base, '/') - base + 1), base, name);
        ck_assert_int_eq(open_refused(url, "does not exist"), ERROR_UNAVAILABLE);
        snprintf(text, sizeof(text), "CREATE DATABASE %s TEMPLATE template0 %s", name,
                 orders[i].words);
        postgresql_sql(text);
        ck_assert_int_eq(open_refused(url, orders[i].line), ERROR_BAD_REQUEST);
        snprintf(text, sizeof(text), "DROP DATABASE %s WITH (FORCE)", name);
        postgresql_sql(text);
    }
}
END_TEST

static void *open_thread(void *url) {
    return scratch_open(url, true);
}

START_TEST(processes_may_start_together_on_an_empty_database) {
    enum { STARTS = 8 };
    const char *url = database_url();
    pthread_t threads[STARTS];
    void *db;

    for (int i = 0; i < STARTS; i++)
        pthread_create(&threads[i], NULL, open_thread, (void *)(uintptr_t)url);
    for (int i = 0; i < STARTS; i++) {
        pthread_join(threads[i], &db);
        ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM schema_version"), schema_text_count);
        db_close(db);
    }
}
END_TEST

/* ---- transactions ---- */

static struct session *session_of(const struct session_settings *settings) {
    struct error err = { 0 };
    struct session *session;

    ck_assert_msg(session_open(settings, &session, &err) == 0, "%s", err.message);
    return session;
}

static void session_ok(struct session *session, const char *sql) {
    struct error err = { 0 };

    ck_assert_msg(session_run(session, sql, &err) == 0, "%s", err.message);
}

struct again {
    int runs, left;
};

static int again_fault(void *arg, const char *point, struct error *err) {
    struct again *again = arg;

    (void)err;
    return strcmp(point, "before_commit") == 0 && again->left-- > 0 ? DB_FAULT_AGAIN : 0;
}

static int again_body(struct db_tx *tx, void *arg, struct error *err) {
    struct again *again = arg;

    again->runs++;
    return db_change(tx, err, "INSERT INTO item (id) VALUES (1)");
}

START_TEST(a_body_runs_again_after_a_serialization_failure) {
    struct db *db = items_open(database_url(), true);
    struct again again = { .left = 3 };
    struct error err = { 0 };

    db_set_fault(db, again_fault, &again);
    ck_assert_int_eq(db_transaction(db, again_body, &again, &err), 0);
    ck_assert_int_eq(again.runs, 4);
    ck_assert_int_eq(sql_int(db, count_items), 1);
    db_close(db);
}
END_TEST

/* Changes, by another session, the row that a body has read and is about to change. */
struct rival {
    struct session *session;
    int runs, changes;
};

static int rival_body(struct db_tx *tx, void *arg, struct error *err) {
    struct rival *rival = arg;
    int64_t value = 0;

    rival->runs++;
    if (db_query_int(tx, &value, err, "SELECT value FROM item WHERE id = 1") < 0)
        return -1;
    commit_begin(rival->session);
    if (session_run(rival->session, "UPDATE item SET value = value + 1 WHERE id = 1;COMMIT",
                    NULL) == 0)
        rival->changes++;
    session_rollback(rival->session);
    return db_change(tx, err, "UPDATE item SET value = $1 WHERE id = 1", DB_INT(value + 100));
}

START_TEST(a_body_that_always_conflicts_runs_without_other_writers) {
    const char *url = database_url();
    struct db *db = items_open(url, true);
    struct session_settings settings;
    struct rival rival = { 0 };
    struct error err = { 0 };

    sql_run(db, "INSERT INTO item (id, value) VALUES (1, 0)");
    ck_assert_int_eq(session_settings_read(url, &settings, &err), 0);
    settings.connect_ms = settings.statement_ms = 10000;
    rival.session = session_of(&settings);
    ck_assert_int_eq(commit_register(rival.session, &clock_system, &err), 0);
    session_ok(rival.session, "SET lock_timeout = 100");
    ck_assert_msg(db_transaction(db, rival_body, &rival, &err) == 0, "%s", err.message);
    ck_assert_int_eq(rival.changes, rival.runs - 1);
    ck_assert_int_eq(sql_int(db, "SELECT value FROM item"), rival.changes + 100);
    session_close(rival.session);
    session_settings_free(&settings);
    db_close(db);
}
END_TEST

/* Two readers that each write the row that the other has read: one after the other, in any order,
 * one sees the other's row. */
static int skew_body(struct db_tx *tx, void *arg, struct error *err) {
    int64_t count = 0, id = (intptr_t)arg;

    if (db_query_int(tx, &count, err, count_items) < 0)
        return -1;
    usleep(1000);
    return db_change(tx, err, "INSERT INTO item (id, value) VALUES ($1, $2)", DB_INT(id),
                     DB_INT(count));
}

struct skew {
    struct db *db;
    intptr_t first;
};

static void *skew_thread(void *arg) {
    const struct skew *skew = arg;
    struct error err = { 0 };

    for (intptr_t i = 0; i < 20; i++)
        ck_assert_msg(db_transaction(skew->db, skew_body, (void *)(skew->first + i), &err) == 0,
                      "%s", err.message);
    return NULL;
}

START_TEST(writers_of_several_processes_are_as_one) {
    const char *url = database_url();
    struct db *dbs[] = { items_open(url, true), second_open(url), second_open(url) };
    struct skew skews[] = { { dbs[0], 100 }, { dbs[1], 200 }, { dbs[2], 300 } };
    pthread_t threads[LENGTH(dbs)];

    for (size_t i = 0; i < LENGTH(dbs); i++)
        pthread_create(&threads[i], NULL, skew_thread, &skews[i]);
    for (size_t i = 0; i < LENGTH(dbs); i++)
        pthread_join(threads[i], NULL);
    ck_assert_int_eq(sql_int(dbs[0], count_items), 60);
    ck_assert_int_eq(sql_int(dbs[0], "SELECT COUNT(DISTINCT value) FROM item"), 60);
    for (size_t i = 0; i < LENGTH(dbs); i++)
        db_close(dbs[i]);
}
END_TEST

START_TEST(a_server_that_ended_our_sessions_is_found_again) {
    struct db *db = items_open(doomed_url(), false);

    for (int i = 0; i < 5; i++) {
        char sql[64];

        doom("");
        snprintf(sql, sizeof(sql), "INSERT INTO item (id) VALUES (%d)", i);
        sql_run(db, sql);
        ck_assert_int_eq(sql_int(db, count_items), i + 1);
    }
    db_close(db);
}
END_TEST

/* ---- commits in doubt ---- */

/* A session with a commit to come, and another one that queries its outcome. */
struct doubt {
    struct db *db;
    struct session_settings settings; /* the sessions look into it */
    struct session *session, *other;
    struct error err;
};

static void doubt_begin(struct doubt *doubt) {
    const char *url = database_url();

    *doubt = (struct doubt){ .db = items_open(url, true) };
    ck_assert_int_eq(session_settings_read(url, &doubt->settings, &doubt->err), 0);
    doubt->settings.connect_ms = doubt->settings.statement_ms = 10000;
    doubt->session = session_of(&doubt->settings);
    ck_assert_int_eq(commit_register(doubt->session, &clock_system, &doubt->err), 0);
    session_ok(doubt->session, "BEGIN ISOLATION LEVEL SERIALIZABLE");
    session_ok(doubt->session, "INSERT INTO item (id) VALUES (1)");
    doubt->other = session_of(&doubt->settings);
}

/* The reported outcome of the commit whose mark is so much larger than that of the last one. */
static int doubt_ask(struct doubt *doubt, int64_t ahead) {
    return (int)commit_ask(doubt->other, doubt->session->writer, doubt->session->mark + ahead,
                           &doubt->err);
}

static void doubt_end(struct doubt *doubt) {
    session_close(doubt->other);
    session_close(doubt->session);
    session_settings_free(&doubt->settings);
    db_close(doubt->db);
}

START_TEST(a_commit_in_doubt_that_happened_is_known) {
    struct doubt doubt;

    doubt_begin(&doubt);
    ck_assert_int_eq(commit_run(doubt.session, &doubt.err), COMMIT_DONE);
    for (int i = 0; i < 2; i++) /* queried twice it is the same */
        ck_assert_int_eq(doubt_ask(&doubt, 0), COMMIT_DONE);
    ck_assert_int_eq(sql_int(doubt.db, count_items), 1);
    doubt_end(&doubt);
}
END_TEST

START_TEST(a_commit_in_doubt_that_did_not_happen_never_will) {
    struct doubt doubt;

    doubt_begin(&doubt);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(doubt_ask(&doubt, 1), COMMIT_AGAIN);
    ck_assert_int_eq(commit_run(doubt.session, &doubt.err),
                     COMMIT_AGAIN); /* on its way all along */
    session_rollback(doubt.session);
    ck_assert_int_eq(sql_int(doubt.db, count_items), 0);
    doubt_end(&doubt);
}
END_TEST

/* As by an older version of the program, which does not lock at the start of a transaction. */
START_TEST(a_transaction_beside_an_exclusive_one_does_not_commit) {
    struct doubt doubt;

    doubt_begin(&doubt);
    ck_assert_int_eq(commit_register(doubt.other, &clock_system, &doubt.err), 0);
    ck_assert_int_eq(commit_begin_exclusive(doubt.other, &doubt.err), 0);
    session_ok(doubt.other, "INSERT INTO item (id) VALUES (2)");
    ck_assert_int_eq(commit_run(doubt.other, &doubt.err), COMMIT_DONE);
    ck_assert_int_eq(commit_run(doubt.session, &doubt.err), COMMIT_AGAIN);
    session_rollback(doubt.session);
    ck_assert_int_eq(sql_int(doubt.db, "SELECT id FROM item"), 2);
    doubt_end(&doubt);
}
END_TEST

/* The mark of a session that is older than its cleaning, in every place where it can be missed. */
START_TEST(a_mark_that_is_gone_is_doubt_and_no_permission) {
    struct doubt doubt;
    struct session *session;

    doubt_begin(&doubt);
    session = doubt.session;
    ck_assert_int_eq(commit_run(session, &doubt.err), COMMIT_DONE);
    session_ok(doubt.other, "DELETE FROM commit_marks"); /* before any query */
    ck_assert_int_eq(doubt_ask(&doubt, 0), COMMIT_FAILED);
    ck_assert_int_eq(doubt.err.kind, ERROR_UNAVAILABLE);

    session_ok(session, "BEGIN ISOLATION LEVEL SERIALIZABLE"); /* before the commit */
    session_ok(session, "INSERT INTO item (id) VALUES (2)");
    ck_assert_int_eq(commit_run(session, &doubt.err), COMMIT_AGAIN);
    session_rollback(session);
    ck_assert_int_eq(sql_int(doubt.db, count_items), 1);

    ck_assert_int_eq(commit_register(session, &clock_system, &doubt.err), 0); /* and then as ever */
    session_ok(session, "BEGIN ISOLATION LEVEL SERIALIZABLE");
    session_ok(session, "INSERT INTO item (id) VALUES (2)");
    ck_assert_int_eq(commit_run(session, &doubt.err), COMMIT_DONE);
    ck_assert_int_eq(doubt_ask(&doubt, 0), COMMIT_DONE);
    doubt_end(&doubt);
}
END_TEST

/* Behind the back of a session that lives, as when the server's clock jumps. */
START_TEST(marks_that_are_cleared_away_early_cost_nothing) {
    const char *url = database_url();
    struct db *db = items_open(url, true);
    struct session_settings settings;
    struct session *other;
    struct error err = { 0 };

    ck_assert_int_eq(session_settings_read(url, &settings, &err), 0);
    settings.connect_ms = settings.statement_ms = 10000;
    other = session_of(&settings);
    sql_run(db, "INSERT INTO item (id) VALUES (1)");
    session_ok(other, "DELETE FROM commit_marks");
    sql_run(db, "INSERT INTO item (id) VALUES (2)");
    ck_assert_int_eq(sql_int(db, count_items), 2);
    ck_assert_int_ge(sql_int(db, "SELECT COUNT(*) FROM commit_marks"), 1);
    session_close(other);
    session_settings_free(&settings);
    db_close(db);
}
END_TEST

START_TEST(a_session_that_rested_for_too_long_is_not_used) {
    struct db *db = items_open(database_url(), true);
    struct session_pool *pool = &((struct postgresql_db *)db)->writers;
    struct error err = { 0 };
    struct session *session;
    int64_t born_us;

    sql_run(db, "INSERT INTO item (id) VALUES (1)");
    ck_assert_ptr_nonnull(pool->idle);
    pool->idle->born_us -= 3601 * INT64_C(1000000);
    born_us = pool->idle->born_us;
    ck_assert_int_eq(session_pool_take(pool, &session, &err), 0);
    ck_assert_int_ne(session->born_us, born_us);
    session_pool_give(pool, session);
    db_close(db);
}
END_TEST

/* The server process ends just before COMMIT arrives, or just after the commit. */
struct killing {
    const char *at;
    int times;
};

static int kill_fault(void *arg, const char *point, struct error *err) {
    struct killing *killing = arg;

    (void)err;
    if (strcmp(point, killing->at) == 0 && killing->times-- > 0)
        doom("idle in transaction");
    return 0;
}

START_TEST(a_connection_lost_in_commit_leaves_one_effect) {
    struct db *db = items_open(doomed_url(), true);
    struct killing killing = { "before_commit", 1 };
    struct again again = { 0 };
    struct error err = { 0 };

    db_set_fault(db, kill_fault, &killing);
    ck_assert_msg(db_transaction(db, again_body, &again, &err) == 0, "%s", err.message);
    ck_assert_int_eq(again.runs, 2);
    ck_assert_int_eq(sql_int(db, count_items), 1);
    db_close(db);
}
END_TEST

/* ---- pool ---- */

struct holder {
    struct db *db;
    sem_t held, go;
};

static int hold_body(struct db_tx *tx, void *arg, struct error *err) {
    struct holder *holder = arg;
    int64_t number;

    sem_post(&holder->held);
    while (sem_wait(&holder->go) < 0)
        ;
    return db_query_int(tx, &number, err, "SELECT 1");
}

static void *hold_thread(void *arg) {
    struct holder *holder = arg;
    struct error err = { 0 };

    ck_assert_int_eq(db_read(holder->db, hold_body, holder, &err), 1);
    return NULL;
}

static int one_body(struct db_tx *tx, void *arg, struct error *err) {
    int64_t number;

    (void)arg;
    return db_query_int(tx, &number, err, "SELECT 1");
}

START_TEST(without_a_free_connection_the_caller_waits_and_is_refused) {
    const struct db_settings settings = {
        .url = database_url(), .inline_writes = true, .pool_most = 1, .pool_wait_ms = 50
    };
    struct error err = { 0 };
    struct holder holder;
    pthread_t thread;

    ck_assert_int_eq(db_open(&settings, &holder.db, &err), 0);
    sem_init(&holder.held, 0, 0);
    sem_init(&holder.go, 0, 0);
    pthread_create(&thread, NULL, hold_thread, &holder);
    while (sem_wait(&holder.held) < 0)
        ;
    ck_assert_int_eq(db_read(holder.db, one_body, NULL, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    sem_post(&holder.go);
    pthread_join(thread, NULL);
    ck_assert_int_eq(db_read(holder.db, one_body, NULL, &err), 1);
    db_close(holder.db);
}
END_TEST

static int idle_body(struct db_tx *tx, void *arg, struct error *err) {
    (void)tx, (void)arg, (void)err;
    return 1;
}

/* The end of the one before it is pending still: nothing has read its result. */
START_TEST(a_reading_transaction_without_a_statement_ends_as_any_other) {
    const struct db_settings settings = { .url = database_url(),
                                          .inline_writes = true,
                                          .pool_most = 1 };
    struct error err = { 0 };
    struct db *db;

    ck_assert_int_eq(db_open(&settings, &db, &err), 0);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(db_read(db, one_body, NULL, &err), 1);
        ck_assert_int_eq(db_read(db, idle_body, NULL, &err), 1);
    }
    ck_assert_int_eq(db_read(db, one_body, NULL, &err), 1);
    db_close(db);
}
END_TEST

/* ---- events and the clock ---- */

static void count_event(void *arg) {
    atomic_fetch_add((_Atomic int *)arg, 1);
}

static int put_body(struct db_tx *tx, void *arg, struct error *err) {
    const struct outbox_message message = {
        .topic = "t", .method = "m", .key = "k", .payload = "{}", .created_at = 1
    };

    (void)arg;
    return outbox_put(tx, &message, err);
}

static bool reaches(_Atomic int *count, int number) {
    for (int i = 0; i < 4000 && atomic_load(count) < number; i++)
        usleep(10000);
    return atomic_load(count) >= number;
}

START_TEST(other_processes_are_notified_of_messages_and_ends) {
    const char *url = doomed_url();
    struct db *teller = second_open(url), *listener = second_open(url);
    _Atomic int outbox = 0, ended = 0;
    struct error err = { 0 };
    int before;

    db_on_event(listener, DB_OUTBOX, count_event, &outbox);
    db_on_event(listener, DB_ENDED, count_event, &ended);
    usleep(300000); /* the listener is connected; notifications at its start are counted */
    before = atomic_load(&outbox);
    ck_assert_int_eq(db_transaction(teller, put_body, NULL, &err), 0);
    ck_assert(reaches(&outbox, before + 1));
    before = atomic_load(&ended);
    db_notify(teller, DB_ENDED);
    ck_assert(reaches(&ended, before + 1));
    before = atomic_load(&outbox);
    doom("");

    ck_assert(reaches(&outbox, before + 1)); /* missed messages are read when it is back */
    db_close(teller);
    db_close(listener);
}
END_TEST

static int64_t slow_clock(void *arg) {
    (void)arg;
    return clock_now_us(&clock_system) - 3600 * INT64_C(1000000);
}

static int64_t some_steady(void *arg) {
    (void)arg;
    return clock_boottime_us();
}

static void some_random(void *arg, void *bytes, size_t size) {
    (void)arg;
    clock_system.random(NULL, bytes, size);
}

START_TEST(a_host_whose_clock_is_wrong_goes_by_the_databases) {
    const struct clock wrong = { .now_us = slow_clock,
                                 .steady_us = some_steady,
                                 .random = some_random };
    struct db_settings settings = { .url = database_url(), .inline_writes = true, .clock = &wrong };
    struct error err = { 0 };
    int64_t last_us = 0, difference_us;
    struct db *db;

    ck_assert_int_eq(db_open(&settings, &db, &err), 0);
    difference_us = clock_now_us(db_clock(db)) - clock_now_us(&clock_system);
    ck_assert_int_lt(llabs(difference_us), 60000000);
    atomic_store(&((struct postgresql_db *)db)->offset_us, 0); /* it was measured again */
    for (int i = 0; i < 1000; i++) {
        int64_t now_us = clock_now_us(db_clock(db));

        ck_assert_int_gt(now_us, last_us);
        last_us = now_us;
    }
    db_close(db);
}
END_TEST

/* ---- the clock ---- */

/* The server's clock and its correction are only ever seen together: to change the one is to change
 * the other. */
static void set_the_servers_clock(struct db *db, int64_t seconds) {
    char sql[80];

    snprintf(sql, sizeof(sql), "UPDATE clock SET ahead_us = ahead_us + %jd",
             (intmax_t)seconds * 1000000);
    sql_run(db, sql);
}

static void set_clock(struct db *db, int64_t seconds) {
    char sql[80];

    snprintf(sql, sizeof(sql), "UPDATE clock SET told_us = told_us + %jd",
             (intmax_t)seconds * 1000000);
    sql_run(db, sql);
}

static void measure(struct db *db) {
    struct postgresql_db *server = (struct postgresql_db *)db;
    struct session *session;
    struct error err = { 0 };

    ck_assert_int_eq(session_pool_take(&server->readers, &session, &err), 0);
    ck_assert_msg(postgresql_clock_measure(server, session, &err) == 0, "%s", err.message);
    session_pool_give(&server->readers, session);
}

/* A process of its own, whose steady clock can stand still for a while. */
static int64_t lost_us;

static int64_t losing_steady(void *arg) {
    (void)arg;
    return clock_boottime_us() - lost_us;
}

static const struct clock losing = { .now_us = slow_clock,
                                     .steady_us = losing_steady,
                                     .random = some_random };

static struct db *process_open(const char *url) {
    struct db_settings settings = { .url = url, .inline_writes = true, .clock = &losing };
    struct error err = { 0 };
    struct db *db;

    ck_assert_msg(db_open(&settings, &db, &err) == 0, "%s", err.message);
    return db;
}

static int64_t line(struct db *db) {
    return clock_shared_us(db_clock(db));
}

#define MINUTE_US 60000000

/* However long a machine takes. */
#define assert_together(one, other) ck_assert_int_lt(llabs(line(one) - line(other)), MINUTE_US)

static const int64_t steps[] = { -31536000, -3600, -300, 300, 3600, 31536000 };

START_TEST(a_servers_clock_that_is_set_changes_nothing) {
    const char *url = database_url();
    for (size_t i = 0; i < LENGTH(steps); i++) {
        struct db *first = process_open(url), *second = process_open(url), *late;
        int64_t before_us = line(first);

        set_the_servers_clock(first, steps[i]);
        measure(first);
        ck_assert_int_lt(llabs(line(first) - before_us), MINUTE_US);
        assert_together(first, second);
        measure(second); /* it was set right */
        measure(first);
        assert_together(first, second);
        ck_assert_int_lt(llabs(line(second) - before_us), MINUTE_US);
        late = process_open(url);
        ck_assert(db_clock_sure(late));
        assert_together(first, late);
        db_close(first);
        db_close(second);
        db_close(late);
    }
}
END_TEST

START_TEST(a_machine_that_stood_still_follows_the_others) {
    const char *url = database_url();
    struct db *first, *second;
    int64_t before_us;

    lost_us = 0;
    first = process_open(url);
    second = process_open(url);
    before_us = line(first);
    lost_us = INT64_C(3600000000);
    set_the_servers_clock(first, 3600); /* an hour has passed, for all but `first` */
    set_clock(first, 3600);             /* and the others have reported it */
    measure(first);
    ck_assert_int_gt(line(first), before_us + INT64_C(3500000000));
    ck_assert_int_lt(line(first), before_us + INT64_C(3700000000));
    lost_us = 0;
    db_close(first);
    db_close(second);
}
END_TEST

START_TEST(a_start_is_not_sure_when_the_servers_clock_seems_to_be_set) {
    const char *url = database_url();
    struct db *lives = process_open(url), *starts;

    set_the_servers_clock(lives, 3600);
    starts = process_open(url);
    ck_assert(!db_clock_sure(starts));
    measure(starts); /* it decides nothing */
    ck_assert(!db_clock_sure(starts));
    measure(lives);
    measure(starts);
    ck_assert(db_clock_sure(starts));
    assert_together(lives, starts);
    db_close(lives);
    db_close(starts);
}
END_TEST

START_TEST(a_start_alone_becomes_sure) {
    const char *url = database_url();
    struct db *db = process_open(url);

    set_the_servers_clock(db, 3600);
    db_close(db);
    lost_us = 0;
    db = process_open(url);
    ck_assert(!db_clock_sure(db));
    lost_us = -INT64_C(60000000); /* a minute later */
    measure(db);
    ck_assert(db_clock_sure(db));
    lost_us = 0;
    db_close(db);
}
END_TEST

START_TEST(a_start_never_goes_back) {
    const char *url = database_url();
    struct db *db = process_open(url);
    int64_t before_us = line(db);

    set_the_servers_clock(db, -3600);
    db_close(db);
    db = process_open(url);
    ck_assert_int_ge(line(db), before_us - MINUTE_US);
    ck_assert(db_clock_sure(db));
    db_close(db);
}
END_TEST

/* ---- moving ---- */

#define DOCUMENT(rowid, id, owner, version)                                                  \
    "INSERT INTO documents (rowid, id, kind, project_id, name, owner_id, version, "          \
    "first_version, generation, metadata, body, status, created_at) VALUES (" rowid ", '" id \
    "', 'k', 'p', '" id "', " owner ", " version ", " version ", 1, '{}', '{}', '{}', 1)"

START_TEST(a_whole_database_moves_or_nothing) {
    autoarena struct arena *arena = arena_new();
    struct copy copy = { .arena = arena };
    struct error err = { 0 };

    copy.from = scratch_open("sqlite://", true);
    copy.to = scratch_open(database_url(), true);
    sql_run(copy.from, "INSERT INTO volume_types (id, name, is_public, created_at) "
                       "VALUES ('t', 'gold ä', 1, 5)");
    sql_run(copy.from, "INSERT INTO volume_type_extra_specs VALUES ('t', 'k', NULL)");
    sql_run(copy.from,
            "INSERT INTO pools VALUES ('p', 'h', '{}', 1.5, NULL, 0, 9007199254740993, 9, 0)");
    sql_run(copy.from, "INSERT INTO outbox (id, topic, method, key, payload, created_at) "
                       "VALUES (41, 't', 'm', 'k', '{}', 1)");
    sql_run(copy.from, "UPDATE document_versions SET version = 7");
    sql_run(copy.from, DOCUMENT("9", "owner", "NULL", "1"));
    sql_run(copy.from, DOCUMENT("3", "owned", "'owner'", "2"));
    ck_assert_msg(copy_database(&copy, &err) == 0, "%s", err.message);
    ck_assert_int_eq(sql_int(copy.to, "SELECT COUNT(*) FROM documents"), 2);
    ck_assert_int_eq(sql_int(copy.to, "SELECT version FROM document_versions"), 7);
    ck_assert_int_eq(sql_int(copy.to, "SELECT COUNT(*) FROM volume_types WHERE name = 'gold ä'"),
                     1);
    ck_assert_int_eq(sql_int(copy.to, "SELECT allocated_gb FROM pools WHERE free_gb IS NULL AND "
                                      "total_gb = 1.5"),
                     INT64_C(9007199254740993));
    sql_run(copy.to, "INSERT INTO outbox (topic, method, key, payload, created_at) "
                     "VALUES ('t', 'm', 'k', '{}', 1)");
    ck_assert_int_eq(sql_int(copy.to, "SELECT MAX(id) FROM outbox"), 42);
    /* Its clock is the one that was copied, and belongs to no server yet. */
    ck_assert_int_eq(sql_int(copy.to, "SELECT COUNT(*) FROM clock WHERE base = ''"), 1);
    ck_assert_int_eq(sql_int(copy.to, "SELECT told_us FROM clock"),
                     sql_int(copy.from, "SELECT told_us FROM clock"));
    ck_assert_int_eq(copy_database(&copy, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    ck_assert_int_eq(sql_int(copy.to, "SELECT COUNT(*) FROM pools"), 1);
    db_close(copy.from);
    db_close(copy.to);
}
END_TEST

/* Nothing is created there before the copy begins. */
START_TEST(a_target_is_checked_without_a_change) {
    const char *url = database_url();
    const struct db_settings looks = { .url = url, .inline_writes = true, .access = DB_LOOKS };
    struct error err = { 0 };
    struct db *target, *db;

    ck_assert_int_eq(db_open(&looks, &target, &err), 0);
    ck_assert_msg(copy_check_target(target, &err) == 0, "%s", err.message);
    ck_assert_int_eq(sql_int(target, "SELECT COUNT(*) FROM pg_class WHERE relnamespace = "
                                     "CAST(current_schema() AS regnamespace)"),
                     0);
    db = scratch_open(url, true);
    ck_assert_int_eq(copy_check_target(target, &err), 0);
    sql_run(db, "INSERT INTO volume_types (id, name, is_public, created_at) "
                "VALUES ('t', 'gold', 1, 5)");
    ck_assert_int_eq(copy_check_target(target, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    sql_run(db, "DROP TABLE schema_version");
    ck_assert_int_eq(copy_check_target(target, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.message, "another program"));
    db_close(db);
    db_close(target);
}
END_TEST

int main(void) {
    const TTest *const urls[] = { no_url_shows_its_password, a_url_names_host_and_database };
    const TTest *const others[] = {
        a_newer_schema_is_refused,
        tables_of_extensions_are_no_other_program,
        a_database_in_another_order_is_refused,
        processes_may_start_together_on_an_empty_database,
        a_body_runs_again_after_a_serialization_failure,
        a_body_that_always_conflicts_runs_without_other_writers,
        writers_of_several_processes_are_as_one,
        a_server_that_ended_our_sessions_is_found_again,
        a_commit_in_doubt_that_happened_is_known,
        a_commit_in_doubt_that_did_not_happen_never_will,
        a_transaction_beside_an_exclusive_one_does_not_commit,
        a_mark_that_is_gone_is_doubt_and_no_permission,
        marks_that_are_cleared_away_early_cost_nothing,
        a_session_that_rested_for_too_long_is_not_used,
        a_connection_lost_in_commit_leaves_one_effect,
        without_a_free_connection_the_caller_waits_and_is_refused,
        a_reading_transaction_without_a_statement_ends_as_any_other,
        other_processes_are_notified_of_messages_and_ends,
        a_host_whose_clock_is_wrong_goes_by_the_databases,
        a_servers_clock_that_is_set_changes_nothing,
        a_machine_that_stood_still_follows_the_others,
        a_start_is_not_sure_when_the_servers_clock_seems_to_be_set,
        a_start_alone_becomes_sure,
        a_start_never_goes_back,
        a_whole_database_moves_or_nothing,
        a_target_is_checked_without_a_change,
    };
    Suite *suite = suite_create("postgresql");
    TCase *cases = tcase_create("postgresql");
    SRunner *runner;
    int failed;

    tcase_set_timeout(cases, 240);
    for (size_t i = 0; i < LENGTH(urls); i++)
        tcase_add_test(cases, urls[i]);
    for (size_t i = 0; postgresql_given() && i < LENGTH(others); i++)
        tcase_add_test(cases, others[i]);
    suite_add_tcase(suite, cases);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
