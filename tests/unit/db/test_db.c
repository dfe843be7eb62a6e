#include "db/db.h"

#include "tests/unit/db/scratch.h"

#include <pthread.h>

static const char create_item[] = "CREATE TABLE item (id INTEGER PRIMARY KEY, value BIGINT)";
static const char insert_item[] = "INSERT INTO item (value) VALUES (1)";
static const char count_items[] = "SELECT COUNT(*) FROM item";

static int refuse_body(struct db_tx *tx, void *arg, struct error *err) {
    (void)arg;
    ck_assert_int_eq(db_run(tx, err, insert_item), 1);
    return error_set(err, ERROR_OVER_QUOTA, "No more than %d.", 3);
}

static int outcome_body(struct db_tx *tx, void *arg, struct error *err) {
    (void)arg;
    ck_assert_int_eq(db_run(tx, err, insert_item), 1);
    return 7;
}

static void check_results(const char *url, bool inline_writes) {
    struct db *db = scratch_open(url, inline_writes);
    struct error err = { 0 };

    sql_run(db, create_item);
    ck_assert_int_eq(db_transaction(db, refuse_body, NULL, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_OVER_QUOTA);
    ck_assert_str_eq(err.message, "No more than 3.");
    ck_assert_int_eq(db_transaction(db, refuse_body, NULL, NULL), -1);
    ck_assert_int_eq(sql_int(db, count_items), 0);
    ck_assert_int_eq(db_transaction(db, outcome_body, NULL, &err), 7);
    ck_assert_int_eq(sql_int(db, count_items), 1);
    db_close(db);
}

START_TEST(a_refused_body_changes_nothing_any_other_commits) {
    autoscratch struct scratch scratch, other;

    scratch_make(&scratch);
    scratch_make(&other);
    check_results("sqlite://", true);
    check_results("sqlite://", false);
    check_results(scratch.url, false);
    check_results(other.url, true);
}
END_TEST

START_TEST(rows_are_there_when_the_file_is_opened_again) {
    autoscratch struct scratch scratch;
    struct db *db;

    scratch_make(&scratch);
    db = scratch_open(scratch.url, false);
    sql_run(db, create_item);
    sql_run(db, insert_item);
    db_close(db);
    db = scratch_open(scratch.url, false);
    ck_assert_int_eq(sql_int(db, count_items), 1);
    db_close(db);
}
END_TEST

START_TEST(closing_nothing_is_fine) {
    db_close(NULL);
}
END_TEST

static int read_refuses(struct db_tx *tx, void *arg, struct error *err) {
    (void)tx;
    (void)arg;
    return error_set(err, ERROR_NOT_FOUND, "no such volume");
}

START_TEST(a_read_hands_on_what_its_body_says) {
    struct db *db = scratch_open("sqlite://", true);
    struct error err = { 0 };

    ck_assert_int_eq(db_read(db, read_refuses, NULL, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_NOT_FOUND);
    ck_assert_int_eq(sql_int(db, "SELECT 5"), 5);
    db_close(db);
}
END_TEST

static void *insert_thread(void *db) {
    sql_run(db, insert_item);
    return NULL;
}

/* Counts, lets another thread commit, counts again. */
static int snapshot_body(struct db_tx *tx, void *db, struct error *err) {
    int64_t before = -1, after = -1;
    pthread_t thread;

    ck_assert_int_eq(db_query_int(tx, &before, err, count_items), 1);
    pthread_create(&thread, NULL, insert_thread, db);
    pthread_join(thread, NULL);
    ck_assert_int_eq(db_query_int(tx, &after, err, count_items), 1);
    ck_assert_int_eq(before, after);
    return 0;
}

START_TEST(a_read_stays_on_its_snapshot) {
    autoscratch struct scratch scratch;
    struct error err = { 0 };
    struct db *db;

    scratch_make(&scratch);
    db = scratch_open(scratch.url, false);
    sql_run(db, create_item);
    ck_assert_int_eq(db_read(db, snapshot_body, db, &err), 0);
    ck_assert_int_eq(sql_int(db, count_items), 1);
    db_close(db);
}
END_TEST

enum { THREADS = 8, ROUNDS = 100 };

static int move_body(struct db_tx *tx, void *arg, struct error *err) {
    if (db_run(tx, err, "UPDATE item SET value = value - 1 WHERE id = 1") < 0 ||
        db_run(tx, err, "UPDATE item SET value = value + 1 WHERE id = 2") < 0)
        return -1;
    return *(const int *)arg % 4 == 0 ? error_set(err, ERROR_CONFLICT, "not this one") : 0;
}

static int sum_body(struct db_tx *tx, void *arg, struct error *err) {
    int64_t first, second;

    (void)arg;
    if (db_query_int(tx, &first, err, "SELECT value FROM item WHERE id = 1") < 0 ||
        db_query_int(tx, &second, err, "SELECT value FROM item WHERE id = 2") < 0)
        return -1;
    ck_assert_int_eq(first + second, 0);
    return 0;
}

static void *busy_thread(void *db) {
    struct error err;

    for (int i = 0; i < ROUNDS; i++) {
        ck_assert_int_eq(db_transaction(db, move_body, &i, &err), i % 4 == 0 ? -1 : 0);
        ck_assert_int_eq(db_read(db, sum_body, NULL, &err), 0);
    }
    return NULL;
}

static void check_threads(const char *url, bool inline_writes) {
    struct db *db = scratch_open(url, inline_writes);
    pthread_t threads[THREADS];

    sql_run(db, create_item);
    sql_run(db, "INSERT INTO item (id, value) VALUES (1, 0), (2, 0)");
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, busy_thread, db);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_int_eq(sql_int(db, "SELECT value FROM item WHERE id = 2"), THREADS * ROUNDS * 3 / 4);
    db_close(db);
}

START_TEST(many_threads_see_whole_transactions_only) {
    autoscratch struct scratch scratch, other;

    scratch_make(&scratch);
    scratch_make(&other);
    check_threads(scratch.url, false);
    check_threads(other.url, true);
    check_threads("sqlite://", false);
    check_threads("sqlite://", true);
}
END_TEST

static pthread_barrier_t all_have_read;

static void *reading_thread(void *db) {
    ck_assert_int_eq(sql_int(db, "SELECT 1"), 1);
    pthread_barrier_wait(&all_have_read);
    return NULL;
}

/* Their connections leave the list from its middle, head and end; the rest goes with the database.
 */
START_TEST(threads_that_read_may_end_in_any_order) {
    autoscratch struct scratch scratch;
    pthread_t threads[THREADS];
    struct db *db;

    scratch_make(&scratch);
    db = scratch_open(scratch.url, false);
    pthread_barrier_init(&all_have_read, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, reading_thread, db);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_int_eq(sql_int(db, "SELECT 1"), 1);
    db_close(db);
    pthread_barrier_destroy(&all_have_read);
}
END_TEST

START_TEST(a_read_without_its_file_says_so) {
    autoscratch struct scratch scratch;
    struct sql_number number = { .sql = "SELECT 1" };
    struct error err = { 0 };
    struct db *db;

    scratch_make(&scratch);
    db = scratch_open(scratch.url, false);
    unlink(scratch.path);
    ck_assert_int_eq(db_read(db, sql_number_body, &number, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(err.message, scratch.path));
    db_close(db);
}
END_TEST

static int nested_body(struct db_tx *tx, void *db, struct error *err) {
    (void)tx;
    return db_transaction(db, nested_body, db, err);
}

static int nested_read_body(struct db_tx *tx, void *db, struct error *err) {
    (void)tx;
    return db_read(db, nested_read_body, db, err);
}

static void transaction_in_body(void) {
    struct db *db = scratch_open("sqlite://", true);

    db_transaction(db, nested_body, db, NULL);
}

static void read_in_body(void) {
    struct db *db = scratch_open("sqlite://", true);

    db_read(db, nested_read_body, db, NULL);
}

static void transaction_in_done(struct db_job *job, int result, struct error *err) {
    (void)result;
    db_transaction(job->arg, outcome_body, NULL, err);
}

static int nothing_body(struct db_tx *tx, void *arg, struct error *err) {
    (void)tx;
    (void)arg;
    (void)err;
    return 0;
}

static void transaction_in_writer(void) {
    struct db *db = scratch_open("sqlite://", false);
    struct db_job job = { .body = nothing_body, .done = transaction_in_done, .arg = db };

    db_submit(db, &job);
    db_close(db);
}

START_TEST(a_transaction_inside_another_stops_the_process) {
    ck_assert(dies(transaction_in_body));
    ck_assert(dies(read_in_body));
    ck_assert(dies(transaction_in_writer));
}
END_TEST

static int outbox_body(struct db_tx *tx, void *arg, struct error *err) {
    db_tx_wrote_outbox(tx);
    return arg ? error_set(err, ERROR_CONFLICT, "no") : 0;
}

static void count_call(void *arg) {
    ++*(int *)arg;
}

START_TEST(the_outbox_hook_hears_commits_that_wrote_it) {
    struct db *db = scratch_open("sqlite://", true);
    int calls = 0;

    db_on_outbox(db, count_call, &calls);
    sql_run(db, create_item);
    ck_assert_int_eq(calls, 0);
    ck_assert_int_eq(db_transaction(db, outbox_body, NULL, NULL), 0);
    ck_assert_int_eq(calls, 1);
    ck_assert_int_eq(db_transaction(db, outbox_body, db, NULL), -1);
    ck_assert_int_eq(calls, 1);
    db_on_outbox(db, NULL, NULL);
    ck_assert_int_eq(db_transaction(db, outbox_body, NULL, NULL), 0);
    ck_assert_int_eq(calls, 1);
    db_close(db);
}
END_TEST

START_TEST(places_are_numbered_from_the_first) {
    autoarena struct arena *arena = arena_new();

    ck_assert_str_eq(db_places(arena, 3, 4), "$3,$4,$5,$6");
    ck_assert_str_eq(db_places(arena, 1, 1), "$1");
    ck_assert_str_eq(db_places(arena, 1, 0), "");
}
END_TEST

CHECK_MAIN("db", a_refused_body_changes_nothing_any_other_commits,
           rows_are_there_when_the_file_is_opened_again, closing_nothing_is_fine,
           a_read_hands_on_what_its_body_says, a_read_stays_on_its_snapshot,
           many_threads_see_whole_transactions_only, threads_that_read_may_end_in_any_order,
           a_read_without_its_file_says_so, a_transaction_inside_another_stops_the_process,
           the_outbox_hook_hears_commits_that_wrote_it, places_are_numbered_from_the_first)
