#include "db/sqlite/snapshot.h"

#include "common/cleanup.h"
#include "db/sqlite/sqlite.h"
#include "tests/unit/db/scratch.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

static const char value_of[] = "SELECT value FROM item";

static void pause_ms(int64_t ms) {
    const struct timespec pause = clock_timespec(ms * 1000);

    nanosleep(&pause, NULL);
}

static void item_make(struct db *db) {
    sql_run(db, "CREATE TABLE item (value INTEGER)");
    sql_run(db, "INSERT INTO item VALUES (0)");
}

static struct connection *reader_new(const struct scratch *scratch) {
    struct error err = { 0 };
    struct connection *reader;

    ck_assert_int_eq(sqlite_open(scratch->path, SQLITE_READER, &reader, &err), 0);
    snapshot_setup(&reader->snapshot, reader->handle);
    ck_assert_ptr_nonnull(reader->snapshot.index);
    return reader;
}

static int64_t value_read(struct connection *reader) {
    struct sql_number number = { .sql = value_of };
    struct error err = { 0 };

    ck_assert_msg(sqlite_tx_read(reader, sql_number_body, &number, &err) >= 0, "%s", err.message);
    return number.value;
}

/* Reads, without a pause, until the snapshot is kept. */
static void value_keep(struct connection *reader, int64_t value) {
    int64_t until_us = clock_monotonic_us() + 10 * SECOND_US;

    do
        ck_assert_int_eq(value_read(reader), value);
    while (!reader->snapshot.kept && clock_monotonic_us() < until_us);
    ck_assert(reader->snapshot.kept);
}

static void handle_run(sqlite3 *handle, const char *sql) {
    ck_assert_msg(sqlite3_exec(handle, sql, NULL, NULL, NULL) == SQLITE_OK, "%s",
                  sqlite3_errmsg(handle));
}

/* Another program's. */
static sqlite3 *handle_open(const struct scratch *scratch) {
    sqlite3 *handle;

    ck_assert_int_eq(sqlite3_open(scratch->path, &handle), SQLITE_OK);
    handle_run(handle, "PRAGMA wal_autocheckpoint = 0; PRAGMA synchronous = OFF; "
                       "SELECT 1 FROM item");
    return handle;
}

/* Does a reader hold up a new log? */
static bool is_held_up(sqlite3 *handle) {
    int rc = sqlite3_wal_checkpoint_v2(handle, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);

    ck_assert(rc == SQLITE_OK || rc == SQLITE_BUSY);
    return rc == SQLITE_BUSY;
}

START_TEST(a_kept_snapshot_ends_with_the_next_commit_of_any_program) {
    autoscratch struct scratch scratch;
    struct connection *reader;
    struct db *db;
    sqlite3 *other;

    scratch_make(&scratch);
    db = scratch_open(scratch.url, true);
    item_make(db);
    reader = reader_new(&scratch);
    other = handle_open(&scratch);
    value_keep(reader, 0);

    handle_run(other, "UPDATE item SET value = 1");
    ck_assert_int_eq(value_read(reader), 1);
    ck_assert(!reader->snapshot.kept);

    value_keep(reader, 1);
    sql_run(db, "UPDATE item SET value = 2");
    ck_assert_int_eq(value_read(reader), 2);
    ck_assert(!reader->snapshot.kept);

    sqlite3_close(other);
    sqlite_close(reader);
    db_close(db);
}
END_TEST

START_TEST(a_kept_snapshot_holds_no_lock_of_the_log_once_that_is_copied) {
    autoscratch struct scratch scratch;
    struct connection *reader;
    struct db *db;
    sqlite3 *other;

    scratch_make(&scratch);
    db = scratch_open(scratch.url, true);
    item_make(db);
    reader = reader_new(&scratch);
    other = handle_open(&scratch);
    value_keep(reader, 0);

    ck_assert(is_held_up(other)); /* all is copied, but the log cannot begin anew */
    ck_assert_int_eq(value_read(reader), 0);
    value_keep(reader, 0);
    ck_assert(!is_held_up(other));

    ck_assert_int_eq(value_read(reader), 0);
    sqlite3_close(other);
    sqlite_close(reader);
    db_close(db);
}
END_TEST

static int failing_body(struct db_tx *tx, void *arg, struct error *err) {
    sql_number_body(tx, arg, err);
    return error_set(err, ERROR_NOT_FOUND, "as requested");
}

START_TEST(no_snapshot_is_kept_after_a_commit_a_pause_or_a_failure) {
    autoscratch struct scratch scratch;
    struct sql_number number = { .sql = value_of };
    struct error err = { 0 };
    struct connection *reader;
    struct db *db;

    scratch_make(&scratch);
    db = scratch_open(scratch.url, true);
    item_make(db);
    reader = reader_new(&scratch);
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(value_read(reader), i);
        ck_assert_int_eq(value_read(reader), i);
        ck_assert(!reader->snapshot.kept ||
                  clock_monotonic_us() > reader->snapshot.since_us + 99999);
        sql_run(db, "UPDATE item SET value = value + 1");
    }
    value_keep(reader, 20);
    ck_assert_int_eq(sqlite_tx_read(reader, failing_body, &number, &err), -1);
    ck_assert(!reader->snapshot.kept);
    value_keep(reader, 20);
    pause_ms(20);
    ck_assert_int_eq(value_read(reader), 20);
    ck_assert(!reader->snapshot.kept);
    sqlite_close(reader);
    db_close(db);
}
END_TEST

START_TEST(a_kept_snapshot_ends_soon_after_its_last_use) {
    autoscratch struct scratch scratch;
    int64_t until_us = clock_monotonic_us() + 30 * SECOND_US;
    bool held_up = false;
    struct db *db;
    sqlite3 *other;

    scratch_make(&scratch);
    db = scratch_open(scratch.url, true);
    item_make(db);
    other = handle_open(&scratch);
    handle_run(other, "PRAGMA synchronous = OFF"); /* a flush may take longer than it is kept */
    for (int value = 1; !held_up && clock_monotonic_us() < until_us; value++) {
        handle_run(other, "UPDATE item SET value = value + 1");
        ck_assert_int_eq(sql_int(db, value_of), value);
        pause_ms(110);
        for (int i = 0; i < 3; i++)
            ck_assert_int_eq(sql_int(db, value_of), value);
        held_up = is_held_up(other);
    }
    ck_assert(held_up);

    until_us = clock_monotonic_us() + 10 * SECOND_US;
    while (is_held_up(other) && clock_monotonic_us() < until_us)
        pause_ms(1);
    ck_assert(!is_held_up(other));
    sqlite3_close(other);
    db_close(db);
}
END_TEST

/* ---- checkpoints ---- */

/* Of the header of the log's index: committed frames, and those copied to the file. */
enum { FRAMES_WORD = 4, COPIED_WORD = 24 };

static bool copied_within(const struct connection *reader, uint32_t frames, int64_t most_us) {
    int64_t until_us = clock_monotonic_us() + most_us;

    while (atomic_load(&reader->snapshot.index[COPIED_WORD]) < frames) {
        if (clock_monotonic_us() > until_us)
            return false;
        pause_ms(1);
    }
    return true;
}

/* The checkpoint after a long commit copies all but that, as a snapshot from before it is open:
 * is the rest copied soon after its end? */
static bool is_rest_copied(struct db *db, sqlite3 *other, const struct connection *reader) {
    uint32_t before;

    sql_run(db, "UPDATE item SET value = value + 1");
    before = atomic_load(&reader->snapshot.index[FRAMES_WORD]);
    handle_run(other, "BEGIN; SELECT value FROM item");
    sql_run(db, "UPDATE page SET data = randomblob(3500)");
    ck_assert(copied_within(reader, before, 10 * SECOND_US));
    handle_run(other, "COMMIT");
    return copied_within(reader, atomic_load(&reader->snapshot.index[FRAMES_WORD]), SECOND_US);
}

START_TEST(a_checkpoint_that_a_snapshot_held_up_is_completed_in_the_next_idle_moment) {
    autoscratch struct scratch scratch;
    struct connection *reader;
    bool copied = false;
    struct db *db;
    sqlite3 *other;

    scratch_make(&scratch);
    db = scratch_open(scratch.url, false);
    item_make(db);
    sql_run(db, "CREATE TABLE page (data BLOB)");
    sql_run(db, "WITH RECURSIVE number (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM number "
                "WHERE i < 4100) INSERT INTO page SELECT randomblob(3500) FROM number");
    reader = reader_new(&scratch);
    other = handle_open(&scratch);
    for (int i = 0; i < 10 && !copied; i++) /* on a slow machine the moment may pass too early */
        copied = is_rest_copied(db, other, reader);
    ck_assert(copied);
    sqlite3_close(other);
    sqlite_close(reader);
    db_close(db);
}
END_TEST

/* ---- commits of another process ---- */

enum { COMMITS = 40, READERS = 4 };

struct race {
    const struct scratch *scratch;
    struct db *db;
    _Atomic int *committed; /* in shared memory: the last commit that has returned */
    atomic_uint reads;
};

static void commit_all(const struct race *race) {
    sqlite3 *handle = handle_open(race->scratch);

    sqlite3_busy_timeout(handle, 10000);
    for (int i = 1; i <= COMMITS; i++) {
        pause_ms(i % 4 == 0 ? 130 : i % 4);
        handle_run(handle, "UPDATE item SET value = value + 1");
        atomic_store(race->committed, i);
    }
    sqlite3_close(handle);
    _exit(0);
}

static void *read_all(void *arg) {
    struct race *race = arg;
    int64_t value = 0;

    while (value < COMMITS) {
        int committed = atomic_load(race->committed);
        int64_t before = value;

        value = sql_int(race->db, value_of);
        ck_assert_int_ge(value, committed);
        ck_assert_int_ge(value, before);
        atomic_fetch_add(&race->reads, 1);
    }
    return NULL;
}

START_TEST(each_read_sees_every_commit_that_has_returned) {
    autoscratch struct scratch scratch;
    struct race race = { .scratch = &scratch };
    pthread_t readers[READERS];
    int status;
    pid_t child;

    scratch_make(&scratch);
    race.committed = mmap(NULL, sizeof(*race.committed), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    race.db = scratch_open(scratch.url, true);
    item_make(race.db);
    db_close(race.db); /* no thread and no lock is left to the child */
    child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0)
        commit_all(&race);
    race.db = scratch_open(scratch.url, true);
    for (int i = 0; i < READERS; i++)
        ck_assert_int_eq(pthread_create(&readers[i], NULL, read_all, &race), 0);
    for (int i = 0; i < READERS; i++)
        pthread_join(readers[i], NULL);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_uint_gt(atomic_load(&race.reads), COMMITS);
    db_close(race.db);
    munmap(race.committed, sizeof(*race.committed));
}
END_TEST

CHECK_MAIN("sqlite_snapshot", a_kept_snapshot_ends_with_the_next_commit_of_any_program,
           a_kept_snapshot_holds_no_lock_of_the_log_once_that_is_copied,
           no_snapshot_is_kept_after_a_commit_a_pause_or_a_failure,
           a_kept_snapshot_ends_soon_after_its_last_use,
           a_checkpoint_that_a_snapshot_held_up_is_completed_in_the_next_idle_moment,
           each_read_sees_every_commit_that_has_returned)
