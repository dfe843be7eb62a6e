#include "db/sqlite/writer.h"

#include "tests/unit/db/scratch.h"

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static const char create_item[] = "CREATE TABLE item (id BIGINT PRIMARY KEY, value TEXT)";
static const char count_items[] = "SELECT COUNT(*) FROM item";

enum { JOBS = 10 };

/* Jobs that queue up behind a held one, so that they meet in one group. */
struct batch {
    sem_t held, go, done;
    struct db_job hold;
    struct batch_job {
        struct db_job job;
        struct batch *batch;
        int64_t id;
        int result, runs;
        struct error err;
    } jobs[JOBS];
    int order[JOBS], finished;
    int left;
};

static int hold_body(struct db_tx *tx, void *arg, struct error *err) {
    struct batch *batch = arg;

    (void)tx;
    (void)err;
    sem_post(&batch->held);
    sem_wait(&batch->go);
    return 0;
}

static void hold_done(struct db_job *job, int result, struct error *err) {
    (void)job;
    (void)err;
    (void)result;
}

static int insert_body(struct db_tx *tx, void *arg, struct error *err) {
    const struct batch_job *job = arg;

    if (db_run(tx, err, "INSERT INTO item (id, value) VALUES ($1, 'x')", DB_INT(job->id)) < 0)
        return -1;
    db_tx_notifies(tx, DB_OUTBOX);
    return job->id == 5 ? error_set(err, ERROR_CONFLICT, "number five is refused") : (int)job->id;
}

static void insert_done(struct db_job *db_job, int result, struct error *err) {
    struct batch_job *job = db_job->arg;
    struct batch *batch = job->batch;

    job->result = result;
    job->err = *err;
    batch->order[batch->finished++] = (int)job->id;
    if (--batch->left == 0)
        sem_post(&batch->done);
}

static void batch_begin(struct batch *batch, struct db *db) {
    *batch = (struct batch){ .left = JOBS };
    sem_init(&batch->held, 0, 0);
    sem_init(&batch->go, 0, 0);
    sem_init(&batch->done, 0, 0);
    batch->hold = (struct db_job){ .body = hold_body, .done = hold_done, .arg = batch };
    db_submit(db, &batch->hold);
    sem_wait(&batch->held);
}

static struct db_job *batch_job(struct batch *batch, db_body *body, int i) {
    struct batch_job *job = &batch->jobs[i];

    job->batch = batch;
    job->id = i + 1;
    job->job = (struct db_job){ .body = body, .done = insert_done, .arg = job };
    return &job->job;
}

static void batch_end(struct batch *batch) {
    sem_post(&batch->go);
    sem_wait(&batch->done);
}

/* The first `unsynced` need not be on disk. */
static void batch_submit_some(struct batch *batch, struct db *db, db_body *body, int unsynced) {
    batch_begin(batch, db);
    for (int i = 0; i < JOBS; i++) {
        struct db_job *job = batch_job(batch, body, i);

        job->unsynced = i < unsynced;
        db_submit(db, job);
    }
    batch_end(batch);
}

/* The first `ones` are of one group, the others of another. */
static void batch_submit_groups(struct batch *batch, struct db *db, db_body *body, int ones) {
    batch_begin(batch, db);
    for (int i = 0; i < JOBS; i++) {
        struct db_job *job = batch_job(batch, body, i);

        job->group = i < ones ? "one" : "other";
        db_submit(db, job);
    }
    batch_end(batch);
}

static void batch_submit(struct batch *batch, struct db *db, db_body *body) {
    batch_submit_some(batch, db, body, 0);
}

static int count_fault(void *arg, const char *point, struct error *err) {
    (void)err;
    *(int *)arg += strcmp(point, "before_commit") == 0;
    return 0;
}

static void count_hook(void *arg) {
    ++*(int *)arg;
}

/* PostgreSQL's listener calls it, too: when it has made its connection, maybe only now, and when
 * another program that uses the server has written. */
static void assert_hooks(int hooks, int wanted) {
    ck_assert_int_ge(hooks, wanted);
    if (!postgresql_given())
        ck_assert_int_eq(hooks, wanted);
}

START_TEST(a_group_shares_one_commit_and_a_failure_undoes_only_itself) {
    struct db *db = scratch_open(database_url(), false);
    struct batch batch;
    int commits = 0, hooks = 0;

    sql_run(db, create_item);
    db_set_fault(db, count_fault, &commits);
    db_on_event(db, DB_OUTBOX, count_hook, &hooks);
    batch_submit(&batch, db, insert_body);
    for (int i = 0; i < JOBS; i++) {
        ck_assert_int_eq(batch.order[i], i + 1);
        ck_assert_int_eq(batch.jobs[i].result, i + 1 == 5 ? -1 : i + 1);
    }
    ck_assert_str_eq(batch.jobs[4].err.message, "number five is refused");
    ck_assert_int_eq(sql_int(db, count_items), JOBS - 1);
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM item WHERE id = 5"), 0);
    db_close(db);
    ck_assert_int_eq(commits, 2); /* the held one, and the group */
    assert_hooks(hooks, 1);
}
END_TEST

static int refuse_or_insert_body(struct db_tx *tx, void *arg, struct error *err) {
    struct batch_job *job = arg;

    job->runs++;
    if (job->id % 3 == 0)
        return error_set(err, ERROR_CONFLICT, "refused before any change");
    return db_run(tx, err, "INSERT INTO item (id) VALUES ($1)", DB_INT(job->id));
}

static int insert_counted_body(struct db_tx *tx, void *arg, struct error *err) {
    struct batch_job *job = arg;

    job->runs++;
    return insert_body(tx, arg, err);
}

START_TEST(a_group_runs_again_only_for_a_failure_after_a_change) {
    if (postgresql_given())
        return; /* SQLite's own */
    struct db *db = scratch_open(database_url(), false);
    struct batch batch;

    sql_run(db, create_item);
    batch_submit(&batch, db, refuse_or_insert_body);
    for (int i = 0; i < JOBS; i++) {
        ck_assert_int_eq(batch.jobs[i].runs, 1);
        ck_assert_int_eq(batch.jobs[i].result, (i + 1) % 3 == 0 ? -1 : 1);
    }
    ck_assert_int_eq(sql_int(db, count_items), JOBS - JOBS / 3);
    sql_run(db, "DELETE FROM item");
    batch_submit(&batch, db, insert_counted_body);
    for (int i = 0; i < JOBS; i++)
        ck_assert_int_eq(batch.jobs[i].runs, i < 5 ? 2 : 1);
    ck_assert_int_eq(sql_int(db, count_items), JOBS - 1);
    sql_run(db, "DELETE FROM item");
    batch_submit(&batch, db, insert_counted_body); /* divided, as the group before it was */
    for (int i = 0; i < JOBS; i++)
        ck_assert_int_eq(batch.jobs[i].runs, 1);
    ck_assert_int_eq(sql_int(db, count_items), JOBS - 1);
    db_close(db);
}
END_TEST

static atomic_int flushes;

int fdatasync(int fd) {
    atomic_fetch_add(&flushes, 1);
    return (int)syscall(SYS_fdatasync, fd);
}

static int count_body(struct db_tx *tx, void *arg, struct error *err) {
    (void)arg;
    return db_run(tx, err, "UPDATE item SET value = value + 1");
}

/* The flushes of the group alone: the body that holds it is written and flushed by itself. */
static int flushes_of_group(struct batch *batch, struct db *db, int unsynced) {
    int before = atomic_load(&flushes);

    batch_submit_some(batch, db, count_body, unsynced);
    return atomic_load(&flushes) - before;
}

/* A commit is flushed, unless nothing of it need be; and the next one is flushed again. */
START_TEST(a_group_is_flushed_for_its_most_careful_body) {
    if (postgresql_given())
        return; /* all is flushed there */
    static const int unsynced[] = { 0, JOBS, 1, JOBS - 1, JOBS, 0 };
    autoscratch struct scratch scratch;
    struct error err = { 0 };
    struct batch batch;
    struct db *db;
    int before;

    scratch_make(&scratch);
    db = scratch_open(scratch.url, false);
    sql_run(db, "CREATE TABLE item (value BIGINT)");
    sql_run(db, "INSERT INTO item VALUES (0)");
    for (unsigned i = 0; i < LENGTH(unsynced); i++)
        ck_assert_int_eq(flushes_of_group(&batch, db, unsynced[i]), unsynced[i] == JOBS ? 0 : 1);
    before = atomic_load(&flushes);
    ck_assert_int_eq(db_transaction_unsynced(db, count_body, NULL, &err), 1);
    ck_assert_int_eq(atomic_load(&flushes), before);
    ck_assert_int_eq(db_transaction(db, count_body, NULL, &err), 1);
    ck_assert_int_eq(atomic_load(&flushes), before + 1);
    db_close(db);
}
END_TEST

static bool sqlite_is_later;

/* In place of SQLite's. */
int sqlite3_file_control(sqlite3 *handle, const char *name, int operation, void *arg) {
    static int (*its)(sqlite3 *, const char *, int, void *);
    static sqlite3_io_methods later;
    int result;

    if (!its)
        its = (int (*)(sqlite3 *, const char *, int, void *))dlsym(RTLD_NEXT, __func__);
    result = its(handle, name, operation, arg);
    if (sqlite_is_later && operation == SQLITE_FCNTL_JOURNAL_POINTER) {
        sqlite3_file *file = *(sqlite3_file **)arg;

        later = *file->pMethods;
        later.iVersion = 4;
        file->pMethods = &later;
    }
    return result;
}

START_TEST(each_commit_is_flushed_by_a_later_sqlite) {
    if (postgresql_given())
        return;
    autoscratch struct scratch scratch;
    struct error err = { 0 };
    struct db *db;
    int before;

    scratch_make(&scratch);
    sqlite_is_later = true;
    db = scratch_open(scratch.url, false);
    sqlite_is_later = false;
    sql_run(db, "CREATE TABLE item (value BIGINT)");
    before = atomic_load(&flushes);
    ck_assert_int_eq(db_transaction_unsynced(db, sql_body, "INSERT INTO item VALUES (7)", &err), 1);
    ck_assert_int_eq(atomic_load(&flushes), before + 1);
    db_close(db);
}
END_TEST

/* Out of order with it, frames of the log before would pass for new ones. */
START_TEST(the_header_of_a_log_that_begins_anew_is_flushed) {
    if (postgresql_given())
        return;
    autoscratch struct scratch scratch;
    struct error err = { 0 };
    struct db *db;
    int before;

    scratch_make(&scratch);
    db = scratch_open(scratch.url, true);
    sql_run(db, "CREATE TABLE item (value TEXT)");
    do { /* until the log is copied to the file, with flushes of both */
        before = atomic_load(&flushes);
        sql_run(db, "INSERT INTO item VALUES (zeroblob(500000))");
    } while (atomic_load(&flushes) == before + 1);
    before = atomic_load(&flushes);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(
            db_transaction_unsynced(db, sql_body, "INSERT INTO item VALUES ('x')", &err), 1);
        ck_assert_int_eq(atomic_load(&flushes), before + 1);
    }
    db_close(db);
}
END_TEST

START_TEST(a_group_has_at_most_the_given_size) {
    struct db_settings settings = { .url = database_url(), .group_most = 4 };
    struct batch batch;
    struct error err;
    struct db *db;
    int commits = 0;

    ck_assert_int_eq(db_open(&settings, &db, &err), 0);
    sql_run(db, create_item);
    db_set_fault(db, count_fault, &commits);
    batch_submit(&batch, db, insert_body);
    db_close(db);
    ck_assert_int_eq(commits, 1 + 3);
}
END_TEST

/* Those of one group of callers, and one of another's. */
START_TEST(groups_of_jobs_take_turns) {
    struct db *db = scratch_open(database_url(), false);
    struct batch batch;

    sql_run(db, create_item);
    batch_submit_groups(&batch, db, refuse_or_insert_body, JOBS - 1);
    ck_assert_int_eq(batch.order[0], 1);
    ck_assert_int_eq(batch.order[1], JOBS);
    for (int i = 2; i < JOBS; i++)
        ck_assert_int_eq(batch.order[i], i);
    db_close(db);
}
END_TEST

static int64_t thread_us(void) {
    struct timespec used;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return used.tv_sec * SECOND_US + used.tv_nsec / 1000;
}

static int busy_body(struct db_tx *tx, void *arg, struct error *err) {
    int64_t until_us = thread_us() + 6000;

    while (thread_us() < until_us)
        ;
    return refuse_or_insert_body(tx, arg, err);
}

/* Those behind it do not wait for all of them. */
START_TEST(a_group_of_expensive_bodies_ends_early) {
    struct batch batch;
    struct db *db;
    int commits = 0;

    if (postgresql_given())
        return; /* SQLite's own */
    db = scratch_open(database_url(), false);
    sql_run(db, create_item);
    db_set_fault(db, count_fault, &commits);
    batch_submit(&batch, db, busy_body);
    ck_assert_int_ge(commits, 1 + 3);
    for (int i = 0; i < JOBS; i++)
        ck_assert_int_eq(batch.order[i], i + 1);
    ck_assert_int_eq(sql_int(db, count_items), JOBS - JOBS / 3);
    db_close(db);
}
END_TEST

static int at_point(void *wanted, const char *point, struct error *err) {
    return strcmp(wanted, point) == 0 ? error_set(err, ERROR_UNAVAILABLE, "died at %s", point) : 0;
}

/* ---- continuations ---- */

struct continued {
    struct db_sequel sequel; /* its first member */
    struct batch_job *job;
};

static int committed[JOBS], dropped[JOBS], committed_count;

static void count_sequel(struct db_sequel *sequel, bool is_committed) {
    struct continued *continued = (struct continued *)sequel;
    const struct batch_job *job = continued->job;

    if (is_committed) {
        ck_assert_int_eq(job->result, (int)job->id); /* it was reported */
        committed[committed_count++] = (int)job->id;
    } else {
        dropped[job->id - 1]++;
    }
    free(continued);
}

static int continued_body(struct db_tx *tx, void *arg, struct error *err) {
    struct continued *continued = calloc(1, sizeof *continued);
    struct batch_job *job = arg;

    job->runs++;
    continued->job = job;
    continued->sequel.run = count_sequel;
    db_tx_continues(tx, &continued->sequel);
    return insert_body(tx, arg, err);
}

static void run_continued(char *fault, struct batch *batch) {
    struct db *db = scratch_open(database_url(), false);

    committed_count = 0;
    memset(dropped, 0, sizeof dropped);
    sql_run(db, create_item);
    if (fault)
        db_set_fault(db, at_point, fault);
    batch_submit(batch, db, continued_body);
    db_close(db);
}

/* The fifth fails after a change, so that its group runs again. */
START_TEST(a_continuation_runs_once_behind_the_commit_of_its_body) {
    if (postgresql_given())
        return; /* SQLite's own */
    struct batch batch;

    run_continued(NULL, &batch);
    ck_assert_int_eq(committed_count, JOBS - 1);
    for (int i = 0; i < JOBS; i++) {
        ck_assert_int_eq(batch.jobs[i].runs, dropped[i] + (i + 1 != 5));
        if (i < JOBS - 1)
            ck_assert_int_eq(committed[i], i + 1 < 5 ? i + 1 : i + 2);
    }
    ck_assert_int_ge(batch.jobs[0].runs, 2);
}
END_TEST

START_TEST(without_a_commit_no_continuation_runs) {
    if (postgresql_given())
        return; /* SQLite's own */
    struct batch batch;

    run_continued((char[]){ "before_commit" }, &batch);
    ck_assert_int_eq(committed_count, 0);
    for (int i = 0; i < JOBS; i++)
        ck_assert_int_eq(dropped[i], batch.jobs[i].runs);
}
END_TEST

static void check_fault(char *point, int64_t rows_after) {
    struct db *db = scratch_open(database_url(), false);
    struct batch batch;
    int hooks = 0;

    sql_run(db, create_item);
    db_on_event(db, DB_OUTBOX, count_hook, &hooks);
    db_set_fault(db, at_point, point);
    batch_submit(&batch, db, insert_body);
    for (int i = 0; i < JOBS; i++) {
        ck_assert_int_eq(batch.jobs[i].result, -1);
        ck_assert_int_eq(batch.jobs[i].err.kind, ERROR_UNAVAILABLE);
        ck_assert_ptr_nonnull(strstr(batch.jobs[i].err.message, point));
    }
    ck_assert_int_eq(sql_int(db, count_items), rows_after);
    db_close(db);
    assert_hooks(hooks, 0);
}

START_TEST(a_fault_fails_the_whole_group_with_or_without_its_rows) {
    check_fault((char[]){ "before_commit" }, 0);
    check_fault((char[]){ "after_commit" }, JOBS - 1);
}
END_TEST

static int fill_body(struct db_tx *tx, void *arg, struct error *err) {
    const struct batch_job *job = arg;

    if (job->id == 6)
        return db_run(tx, err, "INSERT INTO item (id, value) VALUES (6, hex(zeroblob(4000000)))");
    return insert_body(tx, arg, err);
}

START_TEST(a_body_that_fills_the_disk_fails_alone_or_with_its_group) {
    if (postgresql_given())
        return; /* SQLite's own */
    struct db *db = scratch_open(database_url(), false);
    struct batch batch;
    int done = 0;

    sql_run(db, create_item);
    sql_run(db, "PRAGMA max_page_count = 200");
    batch_submit(&batch, db, fill_body);
    ck_assert_int_eq(batch.jobs[5].result, -1);
    ck_assert_int_eq(batch.jobs[5].err.kind, ERROR_UNAVAILABLE);
    for (int i = 0; i < JOBS; i++)
        done += batch.jobs[i].result >= 0;
    /* the fifth fails by itself, and the bodies behind the sixth join no group that is over */
    ck_assert(done == JOBS - 6 || done == JOBS - 2);
    ck_assert_int_eq(sql_int(db, count_items), done);
    sql_run(db, "INSERT INTO item (id) VALUES (99)");
    db_close(db);
}
END_TEST

static int ignore_failure_body(struct db_tx *tx, void *arg, struct error *err) {
    (void)arg;
    (void)err;
    db_run(tx, NULL, "INSERT INTO item (id, value) VALUES (1, hex(zeroblob(4000000)))");
    db_run(tx, NULL, "INSERT OR ROLLBACK INTO item (id) VALUES (1), (1)");
    return 0;
}

START_TEST(a_transaction_abandoned_by_the_engine_is_never_reported_done) {
    if (postgresql_given())
        return; /* SQLite's own */
    struct db *db = scratch_open(database_url(), true);
    struct error err = { 0 };

    sql_run(db, create_item);
    ck_assert_int_eq(db_transaction(db, ignore_failure_body, NULL, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    ck_assert_int_eq(sql_int(db, count_items), 0);
    db_close(db);
}
END_TEST

static int big_body(struct db_tx *tx, void *arg, struct error *err) {
    (void)arg;
    return db_run(tx, err, "INSERT INTO item (id, value) VALUES (1, hex(zeroblob(500000)))");
}

/* The limit stands for a full disk: a write of the WAL fails in the middle of COMMIT. */
START_TEST(a_commit_without_space_changes_nothing_and_works_again_with_space) {
    const struct rlimit small = { 200 * 1024, RLIM_INFINITY };
    const struct rlimit large = { RLIM_INFINITY, RLIM_INFINITY };
    autoscratch struct scratch scratch;
    struct error err = { 0 };
    struct db *db;

    signal(SIGXFSZ, SIG_IGN);
    scratch_make(&scratch);
    db = scratch_open(scratch.url, false);
    sql_run(db, create_item);
    sql_run(db, "INSERT INTO item (id) VALUES (7)");
    db_close(db);
    db = scratch_open(scratch.url, false);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    ck_assert_int_eq(db_transaction(db, big_body, NULL, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    ck_assert_int_eq(sql_int(db, count_items), 1);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &large), 0);
    ck_assert_int_ge(db_transaction(db, big_body, NULL, &err), 0);
    ck_assert_int_eq(sql_int(db, count_items), 2);
    db_close(db);
}
END_TEST

static sqlite3 *other_program(const char *path) {
    sqlite3 *handle;

    ck_assert_int_eq(sqlite3_open(path, &handle), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(handle, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    return handle;
}

static void *release_later(void *handle) {
    usleep(30000);
    sqlite3_exec(handle, "COMMIT", NULL, NULL, NULL);
    return NULL;
}

START_TEST(a_lock_of_another_program_is_waited_for) {
    autoscratch struct scratch scratch;
    pthread_t thread;
    sqlite3 *handle;
    struct db *db;

    scratch_make(&scratch);
    db = scratch_open(scratch.url, false);
    handle = other_program(scratch.path);
    pthread_create(&thread, NULL, release_later, handle);
    sql_run(db, create_item);
    pthread_join(thread, NULL);
    sqlite3_close(handle);
    db_close(db);
}
END_TEST

START_TEST(a_lock_that_stays_is_an_error_after_a_while) {
    autoscratch struct scratch scratch;
    sqlite3 *handle;
    struct db *db;

    scratch_make(&scratch);
    db = scratch_open(scratch.url, true);
    handle = other_program(scratch.path);
    ck_assert_int_eq(sql_refused(db, create_item), ERROR_UNAVAILABLE);
    sqlite3_close(handle);
    sql_run(db, create_item);
    db_close(db);
}
END_TEST

static off_t file_size(const char *path) {
    struct stat found;

    ck_assert_int_eq(stat(path, &found), 0);
    return found.st_size;
}

static void wait_for_size(const char *path, off_t size) {
    for (int i = 0; i < 4000 && file_size(path) < size; i++)
        usleep(10000);
    ck_assert_int_ge(file_size(path), size);
}

START_TEST(a_quiet_writer_brings_the_wal_into_the_file) {
    autoscratch struct scratch scratch;
    struct db *db;

    scratch_make(&scratch);
    db = scratch_open(scratch.url, false);
    sql_run(db, create_item);
    sql_run(db, "INSERT INTO item (id, value) VALUES (1, hex(zeroblob(1000000)))");
    wait_for_size(scratch.path, 2000000);
    sql_run(db, "INSERT INTO item (id) VALUES (2)");
    db_close(db);
}
END_TEST

START_TEST(a_large_wal_is_brought_in_at_once) {
    autoscratch struct scratch scratch;
    struct db *db;

    scratch_make(&scratch);
    db = scratch_open(scratch.url, true);
    sql_run(db, create_item);
    sql_run(db, "INSERT INTO item (id, value) VALUES (1, hex(zeroblob(10000000)))");
    ck_assert_int_ge(file_size(scratch.path), 20000000);
    db_close(db);
}
END_TEST

/* ---- a reader that stays ---- */

struct staying {
    struct db *db;
    sem_t reads, may_go;
};

static int stay_body(struct db_tx *tx, void *arg, struct error *err) {
    struct staying *staying = arg;
    int64_t first, now;

    if (db_query_int(tx, &first, err, "SELECT SUM(LENGTH(value)) FROM item") < 0)
        return -1;
    sem_post(&staying->reads);
    while (sem_wait(&staying->may_go) < 0)
        ;
    if (db_query_int(tx, &now, err, "SELECT SUM(LENGTH(value)) FROM item") < 0)
        return -1;
    ck_assert_int_eq(now, first);
    return 0;
}

static void *stay(void *arg) {
    struct staying *staying = arg;
    struct error err = { 0 };

    ck_assert_msg(db_read(staying->db, stay_body, staying, &err) == 0, "%s", err.message);
    return NULL;
}

/* 20 MB: more than the log may have when its pages are brought into the file. */
static void write_much(struct db *db, int bytes) {
    char sql[80];

    snprintf(sql, sizeof(sql), "UPDATE item SET value = hex(zeroblob(%d))", bytes);
    sql_run(db, sql);
}

/* It sees its first snapshot, whatever is checkpointed into the file; the log grows as long as it
 * reads, and restarts behind it. */
START_TEST(a_reader_keeps_its_snapshot_and_not_the_log) {
    autoscratch struct scratch scratch;
    struct staying staying;
    char wal[64];
    pthread_t thread;
    off_t largest;

    scratch_make(&scratch);
    snprintf(wal, sizeof(wal), "%s-wal", scratch.path);
    staying.db = scratch_open(scratch.url, true);
    sem_init(&staying.reads, 0, 0);
    sem_init(&staying.may_go, 0, 0);
    sql_run(staying.db, create_item);
    sql_run(staying.db, "INSERT INTO item (id, value) VALUES (1, 'short')");
    ck_assert_int_eq(pthread_create(&thread, NULL, stay, &staying), 0);
    while (sem_wait(&staying.reads) < 0)
        ;
    for (int i = 1; i <= 3; i++)
        write_much(staying.db, 10000000 + i);
    largest = file_size(wal);
    ck_assert_int_gt(largest, 3 * 20000000);
    ck_assert_int_eq(sql_int(staying.db, "SELECT SUM(LENGTH(value)) FROM item"), 20000006);
    sem_post(&staying.may_go);
    pthread_join(thread, NULL);
    for (int i = 1; i <= 4; i++)
        write_much(staying.db, 10000000);
    ck_assert_int_le(file_size(wal), largest + 25000000);
    db_close(staying.db);
    staying.db = scratch_open(scratch.url, true);
    ck_assert_int_eq(sql_int(staying.db, "SELECT SUM(LENGTH(value)) FROM item"), 20000000);
    db_close(staying.db);
}
END_TEST

START_TEST(a_close_finishes_queued_transactions) {
    autoscratch struct scratch scratch;
    struct batch batch = { .left = JOBS + 1 }; /* nothing waits for it */
    struct db *db;

    scratch_make(&scratch);
    db = scratch_open(scratch.url, false);
    sql_run(db, create_item);
    for (int i = 0; i < JOBS; i++) {
        batch.jobs[i] = (struct batch_job){ .batch = &batch, .id = i + 10 };
        batch.jobs[i].job =
            (struct db_job){ .body = insert_body, .done = insert_done, .arg = &batch.jobs[i] };
        db_submit(db, &batch.jobs[i].job);
    }
    db_close(db);
    ck_assert_int_eq(batch.finished, JOBS);
    db = scratch_open(scratch.url, true);
    ck_assert_int_eq(sql_int(db, count_items), JOBS);
    db_close(db);
}
END_TEST

CHECK_MAIN("writer", a_group_shares_one_commit_and_a_failure_undoes_only_itself,
           a_continuation_runs_once_behind_the_commit_of_its_body,
           without_a_commit_no_continuation_runs,
           a_group_runs_again_only_for_a_failure_after_a_change,
           a_group_is_flushed_for_its_most_careful_body, each_commit_is_flushed_by_a_later_sqlite,
           the_header_of_a_log_that_begins_anew_is_flushed, a_group_has_at_most_the_given_size,
           groups_of_jobs_take_turns, a_group_of_expensive_bodies_ends_early,
           a_fault_fails_the_whole_group_with_or_without_its_rows,
           a_body_that_fills_the_disk_fails_alone_or_with_its_group,
           a_transaction_abandoned_by_the_engine_is_never_reported_done,
           a_commit_without_space_changes_nothing_and_works_again_with_space,
           a_lock_of_another_program_is_waited_for, a_lock_that_stays_is_an_error_after_a_while,
           a_quiet_writer_brings_the_wal_into_the_file, a_large_wal_is_brought_in_at_once,
           a_reader_keeps_its_snapshot_and_not_the_log, a_close_finishes_queued_transactions)
