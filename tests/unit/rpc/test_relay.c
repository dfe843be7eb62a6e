#include "rpc/relay.h"

#include "common/log.h"
#include "db/outbox.h"
#include "tests/unit/db/scratch.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>

static const char count_rows[] = "SELECT COUNT(*) FROM outbox";

/* A consumer that remembers the payloads. */
struct taker {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    char seen[8192];
    unsigned count;
    unsigned refuse;
};

static void taker_init(struct taker *taker) {
    memset(taker, 0, sizeof(*taker));
    pthread_mutex_init(&taker->lock, NULL);
    pthread_cond_init(&taker->changed, NULL);
    log_open(-1, LOG_ERROR, LOG_TEXT);
}

static int take_message(void *arg, const struct rpc_message *message, struct error *err) {
    struct taker *taker = arg;
    bool refused;

    pthread_mutex_lock(&taker->lock);
    refused = taker->refuse > 0;
    taker->refuse -= refused;
    if (!refused && strlen(taker->seen) + strlen(message->payload) < sizeof(taker->seen))
        strcat(taker->seen, message->payload);
    taker->count += !refused;
    pthread_cond_broadcast(&taker->changed);
    pthread_mutex_unlock(&taker->lock);
    return refused ? error_set(err, ERROR_BACKEND, "not now") : 0;
}

static void wait_count(struct taker *taker, unsigned count) {
    pthread_mutex_lock(&taker->lock);
    while (taker->count < count)
        pthread_cond_wait(&taker->changed, &taker->lock);
    pthread_mutex_unlock(&taker->lock);
}

static void wait_rows(struct db *db, int64_t count) {
    for (int i = 0; i < 4000 && sql_int(db, count_rows) != count; i++)
        usleep(10000);
    ck_assert_int_eq(sql_int(db, count_rows), count);
}

struct row {
    const char *topic;
    const char *key;
    const char *payload;
    const char *project;
    const char *method; /* NULL: extend */
};

static int put_body(struct db_tx *tx, void *arg, struct error *err) {
    const struct row *row = arg;

    const struct outbox_message message = { .topic = row->topic,
                                            .method = row->method ? row->method : "extend",
                                            .key = row->key,
                                            .project = row->project,
                                            .payload = row->payload,
                                            .created_at = 5 };

    return outbox_put(tx, &message, err);
}

static void put(struct db *db, const char *topic, const char *key, const char *payload) {
    struct row row = { topic, key, payload, NULL, NULL };
    struct error err = { 0 };

    ck_assert_msg(db_transaction(db, put_body, &row, &err) == 0, "%s", err.message);
}

static struct rpc *engine_new(unsigned workers, struct taker *taker) {
    struct rpc *rpc = rpc_local_new(workers);
    struct error err;

    ck_assert_int_eq(rpc->engine->subscribe(rpc, "a", take_message, taker, &err), 0);
    return rpc;
}

static int step(struct relay *relay) {
    struct error err = { 0 };
    int published = relay_step(relay, &err);

    ck_assert_msg(published >= 0, "%s", err.message);
    return published;
}

START_TEST(a_row_is_published_once_and_deleted_when_confirmed) {
    struct taker taker;
    struct rpc *rpc;
    struct db *db = scratch_open(database_url(), true);
    struct relay *relay;

    taker_init(&taker);
    rpc = engine_new(0, &taker);
    relay = relay_new(db, rpc, RELAY_STEPS);
    ck_assert_int_eq(step(relay), 0);
    put(db, "a", "k", "1");
    put(db, "a", "k", "2");
    ck_assert_int_eq(step(relay), 2);
    ck_assert_int_eq(step(relay), 0);
    ck_assert_int_eq(sql_int(db, count_rows), 2);
    ck_assert(rpc_local_step(rpc, 0));
    ck_assert_int_eq(step(relay), 0);
    ck_assert_int_eq(sql_int(db, count_rows), 1);
    ck_assert(rpc_local_step(rpc, 0));
    ck_assert_int_eq(step(relay), 0);
    ck_assert_int_eq(sql_int(db, count_rows), 0);
    ck_assert_str_eq(taker.seen, "12");
    relay_stop(relay);
    rpc->engine->stop(rpc);
    db_close(db);
}
END_TEST

START_TEST(topics_of_others_are_left_alone) {
    struct taker taker;
    struct rpc *rpc;
    struct db *db = scratch_open(database_url(), true);
    struct relay *relay;
    struct error err;

    taker_init(&taker);
    rpc = engine_new(0, &taker);
    relay = relay_new(db, rpc, RELAY_STEPS);
    put(db, "b", "k", "1");
    put(db, "a", "k", "2");
    ck_assert_int_eq(step(relay), 1);
    ck_assert_int_eq(rpc->engine->subscribe(rpc, "b", take_message, &taker, &err), 0);
    ck_assert_int_eq(step(relay), 1);
    relay_stop(relay);
    rpc->engine->stop(rpc);
    ck_assert_int_eq(sql_int(db, count_rows), 2);
    db_close(db);
}
END_TEST

static int take_project(void *arg, const struct rpc_message *message, struct error *err) {
    struct taker *taker = arg;

    (void)err;
    strcat(taker->seen, *message->project ? message->project : "-");
    return 0;
}

/* Rows of a release without that column are left in the table by an upgrade. */
START_TEST(a_row_brings_its_project_or_none) {
    struct db *db = scratch_open(database_url(), true);
    struct row row = { "a", "k", "{}", "p1", NULL };
    struct rpc *rpc = rpc_local_new(0);
    struct relay *relay = relay_new(db, rpc, RELAY_STEPS);
    struct taker taker;
    struct error err = { 0 };

    taker_init(&taker);
    ck_assert_int_eq(rpc->engine->subscribe(rpc, "a", take_project, &taker, &err), 0);
    ck_assert_int_eq(db_transaction(db, put_body, &row, &err), 0);
    sql_run(db, "INSERT INTO outbox (topic, method, key, payload, created_at) "
                "VALUES ('a', 'extend', 'k', '{}', 5)");
    ck_assert_int_eq(step(relay), 2);
    while (rpc_local_step(rpc, 0))
        ;
    ck_assert_str_eq(taker.seen, "p1-");
    relay_stop(relay);
    rpc->engine->stop(rpc);
    db_close(db);
}
END_TEST

START_TEST(returned_messages_are_published_again) {
    struct taker taker;
    struct rpc *rpc;
    struct db *db = scratch_open(database_url(), true);
    struct relay *relay;

    taker_init(&taker);
    rpc = engine_new(0, &taker);
    relay = relay_new(db, rpc, RELAY_STEPS);
    put(db, "a", "k", "1");
    put(db, "a", "k", "2");
    ck_assert_int_eq(step(relay), 2);
    rpc_local_forget(rpc);
    ck_assert_int_eq(step(relay), 2);
    ck_assert(rpc_local_step(rpc, 0));
    ck_assert(rpc_local_step(rpc, 0));
    ck_assert_str_eq(taker.seen, "12");
    relay_stop(relay);
    rpc->engine->stop(rpc);
    db_close(db);
}
END_TEST

START_TEST(a_new_relay_takes_over_remaining_rows) {
    struct taker taker;
    struct rpc *rpc;
    struct db *db = scratch_open(database_url(), true);
    struct relay *relay;

    taker_init(&taker);
    rpc = engine_new(0, &taker);
    relay = relay_new(db, rpc, RELAY_STEPS);
    put(db, "a", "k", "1");
    put(db, "a", "k", "2");
    ck_assert_int_eq(step(relay), 2);
    ck_assert(rpc_local_step(rpc, 0));
    relay_stop(relay); /* before the deletion, and with one message still in the engine */
    relay = relay_new(db, rpc, RELAY_STEPS);
    ck_assert_int_eq(step(relay), 2);
    while (rpc_local_step(rpc, 0))
        ;
    ck_assert_int_eq(step(relay), 0);
    ck_assert_int_eq(sql_int(db, count_rows), 0);
    ck_assert_str_eq(taker.seen, "1212");
    relay_stop(relay);
    rpc->engine->stop(rpc);
    db_close(db);
}
END_TEST

static int fail_once(void *arg, const char *point, struct error *err) {
    int *left = arg;

    if (strcmp(point, "before_commit") != 0 || *left == 0)
        return 0;
    --*left;
    return error_set(err, ERROR_UNAVAILABLE, "no disk");
}

START_TEST(a_deletion_that_fails_is_tried_again) {
    struct db *db = scratch_open(database_url(), true);
    struct error err = { 0 };
    struct taker taker;
    struct relay *relay;
    struct rpc *rpc;
    int left = 1;

    taker_init(&taker);
    rpc = engine_new(0, &taker);
    relay = relay_new(db, rpc, RELAY_STEPS);
    put(db, "a", "k", "1");
    ck_assert_int_eq(step(relay), 1);
    ck_assert(rpc_local_step(rpc, 0));
    db_set_fault(db, fail_once, &left);
    ck_assert_int_eq(relay_step(relay, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    ck_assert_str_eq(err.message, "deleting messages: no disk");
    ck_assert_int_eq(sql_int(db, count_rows), 1);
    ck_assert_int_eq(step(relay), 0);
    ck_assert_int_eq(sql_int(db, count_rows), 0);
    sql_run(db, "ALTER TABLE outbox RENAME TO hidden");
    ck_assert_int_eq(relay_step(relay, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.message, "reading messages"));
    relay_stop(relay);
    relay_stop(NULL);
    rpc->engine->stop(rpc);
    db_close(db);
}
END_TEST

/* An engine that reports every topic reachable and takes nothing. */
static int take_nothing(struct rpc *rpc, const struct rpc_message *message,
                        void (*confirm)(void *arg, bool taken), void *arg, struct error *err) {
    (void)rpc;
    (void)message;
    (void)confirm;
    (void)arg;
    return error_set(err, ERROR_UNAVAILABLE, "no broker");
}

static enum rpc_reach reach_all(struct rpc *rpc, const char *topic) {
    (void)rpc;
    (void)topic;
    return RPC_EVERYWHERE;
}

START_TEST(refused_messages_stay_in_the_table) {
    static const struct rpc_engine engine = { .publish = take_nothing, .reaches = reach_all };
    struct db *db = scratch_open(database_url(), true);
    struct rpc rpc = { &engine };
    struct relay *relay = relay_new(db, &rpc, RELAY_STEPS);

    put(db, "a", "k", "1");
    ck_assert_int_eq(step(relay), 0);
    ck_assert_int_eq(step(relay), 0);
    ck_assert_int_eq(sql_int(db, count_rows), 1);
    relay_stop(relay);
    db_close(db);
}
END_TEST

static int count_publish(struct rpc *rpc, const struct rpc_message *message,
                         void (*confirm)(void *arg, bool taken), void *arg, struct error *err) {
    (void)rpc, (void)message, (void)err;
    confirm(arg, true);
    return 0;
}

START_TEST(rows_of_other_processes_are_left_to_them_for_a_while) {
    static const struct rpc_engine engine = { .publish = count_publish, .reaches = reach_all };
    struct db *db = scratch_open("sqlite://", true);
    struct rpc rpc = { &engine };
    struct relay *relay = relay_new(db, &rpc, RELAY_STEPS);
    char sql[256];

    put(db, "a", "k", "own"); /* an old one, but own */
    snprintf(
        sql, sizeof sql,
        "INSERT INTO outbox (topic, method, key, payload, created_at, sender) "
        "VALUES ('a', 'm', 'k', 'young', %jd, 'another'), ('a', 'm', 'k', 'old', %jd, 'other')",
        (intmax_t)clock_shared_us(db_clock(db)) + 60000000, /* however long the test takes */
        (intmax_t)clock_shared_us(db_clock(db)) - 4000000);
    sql_run(db, sql);
    ck_assert_int_eq(step(relay), 2);
    ck_assert_int_eq(step(relay), 0);
    ck_assert_int_eq(sql_int(db, count_rows), 1);
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM outbox WHERE payload = 'young'"), 1);
    sql_run(db, "UPDATE outbox SET created_at = created_at - 64000000");
    ck_assert_int_eq(step(relay), 1);
    relay_stop(relay);
    db_close(db);
}
END_TEST

START_TEST(more_rows_than_a_batch_keep_their_order) {
    enum { ROWS = 1200 };
    struct db *db = scratch_open(database_url(), true);
    struct taker taker;
    struct relay *relay;
    struct rpc *rpc;
    char expected[8192] = "";

    taker_init(&taker);
    rpc = engine_new(0, &taker);
    relay = relay_new(db, rpc, RELAY_STEPS);
    for (int i = 0; i < ROWS; i++) {
        char payload[16];

        snprintf(payload, sizeof(payload), "%d,", i);
        strcat(expected, payload);
        put(db, "a", "k", payload);
    }
    ck_assert_int_eq(step(relay), ROWS);
    for (unsigned i = 0; rpc_local_waiting(rpc) > 0; i++)
        rpc_local_step(rpc, i * 31 % rpc_local_waiting(rpc));
    ck_assert_str_eq(taker.seen, expected);
    ck_assert_int_eq(step(relay), 0);
    ck_assert_int_eq(sql_int(db, count_rows), 0);
    relay_stop(relay);
    rpc->engine->stop(rpc);
    db_close(db);
}
END_TEST

START_TEST(rows_of_a_topic_above_a_limit_wait_in_the_table) {
    enum { LIMIT = 8192, MORE = 100 }; /* of one project: half of the limit */
    struct db *db = scratch_open(database_url(), true);
    struct taker taker;
    struct relay *relay;
    struct rpc *rpc;

    taker_init(&taker);
    rpc = engine_new(0, &taker);
    relay = relay_new(db, rpc, RELAY_STEPS);
    sql_run(db, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 8292) "
                "INSERT INTO outbox (topic, method, key, payload, created_at) "
                "SELECT 'a', 'm', '', 'x', 1 FROM n");
    ck_assert_int_eq(rpc->engine->subscribe(rpc, "b", take_message, &taker, NULL), 0);
    put(db, "b", "", "y");
    ck_assert_int_eq(step(relay), LIMIT + 1);
    ck_assert_int_eq(step(relay), 0);
    put(db, "b", "", "z");
    ck_assert_int_eq(step(relay), 1);
    for (int i = 0; i < LIMIT + 2; i++)
        ck_assert(rpc_local_step(rpc, 0));
    ck_assert_int_eq(step(relay), MORE);
    ck_assert_int_eq(sql_int(db, count_rows), MORE);
    relay_stop(relay);
    rpc->engine->stop(rpc);
    db_close(db);
}
END_TEST

/* So many rows, of one project, or of as many as there are rows. */
static void put_many(struct db *db, const char *project, int count) {
    autoarena struct arena *arena = arena_new();

    sql_run(db, arena_format(arena,
                             "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
                             "WHERE i < %d) INSERT INTO outbox (topic, method, key, payload, "
                             "created_at, project_id) SELECT 'a', 'm', '', 'x', 1, %s FROM n",
                             count, project));
}

START_TEST(a_project_leaves_slots_of_a_topic_to_others) {
    enum { ALL = 16384, ONES = ALL / 2, FREE = ALL - ONES - 1, THIRDS = (FREE + 1) / 2 };
    struct db *db = scratch_open(database_url(), true);
    struct taker taker;
    struct relay *relay;
    struct rpc *rpc;
    unsigned rows = 0;

    taker_init(&taker);
    rpc = engine_new(0, &taker);
    relay = relay_new(db, rpc, RELAY_STEPS);
    put_many(db, "'one'", ALL + 1000);
    put_many(db, "'another'", 1);
    ck_assert_int_eq(step(relay), ONES + 1);
    put_many(db, "'third'", ALL);
    ck_assert_int_eq(step(relay), THIRDS);
    put_many(db, "'fourth'", 1);
    ck_assert_int_eq(step(relay), 1);
    /* Memory is bounded all the same. */
    put_many(db, "'of' || i", ALL);
    ck_assert_int_eq(step(relay), FREE - THIRDS - 1);
    ck_assert_int_eq(step(relay), 0);
    ck_assert_uint_eq(rpc_local_waiting(rpc), ALL);

    for (int published = 1; published > 0; published = step(relay))
        for (; rpc_local_step(rpc, 0); rows++)
            ;
    ck_assert_uint_eq(rows, 3 * ALL + 1000 + 2);
    ck_assert_uint_eq(taker.count, rows);
    ck_assert_int_eq(sql_int(db, count_rows), 0);
    relay_stop(relay);
    rpc->engine->stop(rpc);
    db_close(db);
}
END_TEST

/* So many rows of a project and topic, with payloads of that size. */
static void put_large(struct db *db, const char *topic, const char *method, char project,
                      unsigned count, size_t size) {
    autofree char *payload = malloc(size + 1);
    struct error err = { 0 };

    memset(payload, project, size);
    payload[size] = '\0';
    for (unsigned i = 0; i < count; i++) {
        struct row row = { topic, "k", payload, (char[]){ project, '\0' }, method };

        ck_assert_msg(db_transaction(db, put_body, &row, &err) == 0, "%s", err.message);
    }
}

START_TEST(rows_of_a_topic_above_a_limit_of_bytes_wait_in_the_table) {
    enum { MIB = 1 << 20, LIMIT = 8 };
    struct db *db = scratch_open(database_url(), true);
    struct rpc *rpc = rpc_local_new(0);
    struct relay *relay = relay_new(db, rpc, RELAY_STEPS);
    struct taker taker;
    unsigned rows = 0;

    taker_init(&taker);
    ck_assert_int_eq(rpc->engine->subscribe(rpc, "a", take_message, &taker, NULL), 0);
    ck_assert_int_eq(rpc->engine->subscribe(rpc, "b", take_message, &taker, NULL), 0);
    put_large(db, "a", "m", '1', LIMIT, MIB);
    ck_assert_int_eq(step(relay), LIMIT / 2);
    put_large(db, "a", "m", '2', LIMIT, MIB);
    put_large(db, "b", "m", '1', 1, MIB);
    put_large(db, "b", "m", '3', 1, 3 * LIMIT * MIB); /* one fits, whatever its size */
    ck_assert_int_eq(step(relay), LIMIT / 4 + 2);
    for (int published = 1; published > 0; published = step(relay))
        for (; rpc_local_step(rpc, 0); rows++)
            ;
    ck_assert_uint_eq(rows, 2 * LIMIT + 2);
    ck_assert_int_eq(sql_int(db, count_rows), 0);
    relay_stop(relay);
    rpc->engine->stop(rpc);
    db_close(db);
}
END_TEST

static bool log_has(int log, const char *text) {
    char lines[8192] = "";

    ck_assert_int_ge(pread(log, lines, sizeof(lines) - 1, 0), 0);
    return strstr(lines, text) != NULL;
}

/* The projects with most lose their oldest; work and what the engine has stay. */
START_TEST(notifications_above_a_limit_are_dropped) {
    enum { SIZE = 10000 };
    static const char count_of[] = "SELECT COUNT(*) FROM outbox WHERE project_id = ";
    autoclose int log = memfd_create("log", MFD_CLOEXEC);
    struct db *db = scratch_open(database_url(), true);
    struct rpc *rpc = rpc_local_new(0);
    struct relay *relay = relay_new(db, rpc, RELAY_STEPS);
    struct taker taker;
    autoarena struct arena *arena = arena_new();

    taker_init(&taker);
    log_open(log, LOG_WARNING, LOG_TEXT);
    ck_assert_int_eq(rpc->engine->subscribe(rpc, "here", take_message, &taker, NULL), 0);
    relay_limit(relay, 100000);
    put_large(db, "here", "volume.update.end", '1', 5, SIZE);
    put_large(db, "away", "extend_volume", '1', 30, SIZE);
    put_large(db, "away", "volume.update.end", '1', 9, SIZE);
    ck_assert_int_eq(step(relay), 5);
    ck_assert_int_eq(sql_int(db, count_rows), 44);
    put_large(db, "away", "volume.update.end", '1', 20, SIZE);
    put_large(db, "away", "volume.update.end", '2', 2, SIZE);
    ck_assert_int_eq(step(relay), 0);
    ck_assert_int_eq(sql_int(db, arena_join(arena, count_of, "'1' AND topic = 'here'", NULL)), 5);
    ck_assert_int_eq(
        sql_int(db, arena_join(arena, count_of, "'1' AND method = 'extend_volume'", NULL)), 30);
    ck_assert_int_eq(sql_int(db, arena_join(arena, count_of,
                                            "'1' AND topic = 'away' AND method "
                                            "<> 'extend_volume'",
                                            NULL)),
                     6);
    ck_assert_int_eq(sql_int(db, arena_join(arena, count_of, "'2'", NULL)), 2);
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM outbox WHERE id > 58"), 8); /* the newest */
    ck_assert(log_has(log, "notifications dropped, too many wait for the broker count=23"));

    put_large(db, "away", "volume.update.end", '2', 1, SIZE); /* into the space that is free */
    ck_assert_int_eq(step(relay), 0);
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM outbox WHERE id > 58"), 9);
    put_large(db, "away", "volume.update.end", '1', 2, SIZE);
    ck_assert_int_eq(step(relay), 0);
    ck_assert(!log_has(log, "count=3"));
    relay_stop(relay);
    ck_assert(log_has(log, "notifications dropped, too many wait for the broker count=3"));
    rpc->engine->stop(rpc);
    db_close(db);
}
END_TEST

/* Also between its periodic scans. */
START_TEST(the_thread_drops_notifications_above_a_limit) {
    autoscratch struct scratch scratch;
    struct rpc *rpc = rpc_local_new(1);
    struct relay *relay;
    struct db *db;

    scratch_make(&scratch);
    db = scratch_open(scratch.url, true);
    log_open(-1, LOG_ERROR, LOG_TEXT);
    relay = relay_new(db, rpc, RELAY_SHARED);
    relay_limit(relay, 100000);
    put_large(db, "away", "volume.update.end", '1', 30, 10000);
    for (int i = 0; i < 4000 && sql_int(db, count_rows) > 9; i++)
        usleep(10000);
    ck_assert_int_ge(sql_int(db, count_rows), 8);
    ck_assert_int_le(sql_int(db, count_rows), 9);
    relay_stop(relay);
    rpc->engine->stop(rpc);
    db_close(db);
}
END_TEST

/* Its thread begins before its owner has given the limit, which may be a large one. */
START_TEST(no_notification_is_dropped_before_the_limit_is_known) {
    struct db *db = scratch_open(database_url(), true);
    struct rpc *rpc = rpc_local_new(0);
    struct relay *relay = relay_new(db, rpc, RELAY_STEPS);

    put_large(db, "away", "volume.update.end", '1', 70, 1 << 20);
    ck_assert_int_eq(step(relay), 0);
    ck_assert_int_eq(sql_int(db, count_rows), 70);
    relay_stop(relay);
    rpc->engine->stop(rpc);
    db_close(db);
}
END_TEST

enum { PUTTERS = 4, PUTS = 50 };

struct putter {
    struct db *db;
    char key[8];
};

static void *putter_run(void *arg) {
    struct putter *putter = arg;

    for (int i = 0; i < PUTS; i++)
        put(putter->db, "a", putter->key, "x");
    return NULL;
}

START_TEST(the_thread_brings_every_row_once_and_empties_the_table) {
    autoscratch struct scratch scratch;
    struct putter putters[PUTTERS];
    pthread_t threads[PUTTERS];
    struct relay *relay;
    struct taker taker;
    struct rpc *rpc;
    struct db *db;

    scratch_make(&scratch);
    taker_init(&taker);
    taker.refuse = 3;
    db = scratch_open(scratch.url, false);
    rpc = engine_new(3, &taker);
    relay = relay_new(db, rpc, RELAY_SHARED);
    for (int i = 0; i < PUTTERS; i++) {
        putters[i] = (struct putter){ .db = db, .key = { (char)('a' + i) } };
        pthread_create(&threads[i], NULL, putter_run, &putters[i]);
    }
    for (int i = 0; i < PUTTERS; i++)
        pthread_join(threads[i], NULL);
    wait_count(&taker, PUTTERS * PUTS);
    wait_rows(db, 0);
    relay_stop(relay);
    rpc->engine->stop(rpc);
    ck_assert_uint_eq(taker.count, PUTTERS * PUTS);
    db_close(db);
}
END_TEST

START_TEST(the_thread_finds_rows_of_other_programs_by_itself) {
    autoscratch struct scratch scratch;
    struct db *db, *other;
    struct relay *relay;
    struct taker taker;
    struct rpc *rpc;

    scratch_make(&scratch);
    taker_init(&taker);
    db = scratch_open(scratch.url, false);
    other = scratch_open(scratch.url, false);
    rpc = engine_new(1, &taker);
    relay = relay_new(db, rpc, RELAY_SHARED);
    usleep(20000); /* its first look is over */
    put(other, "a", "k", "1");
    wait_count(&taker, 1);
    wait_rows(other, 0);
    relay_stop(relay);
    rpc->engine->stop(rpc);
    db_close(other);
    db_close(db);
}
END_TEST

static int count_commit(void *arg, const char *point, struct error *err) {
    atomic_uint *commits = arg;

    (void)err;
    *commits += strcmp(point, "after_commit") == 0;
    return 0;
}

START_TEST(confirmed_rows_are_deleted_together) {
    enum { ROWS = 100 };
    autoscratch struct scratch scratch;
    atomic_uint commits = 0;
    struct relay *relay;
    struct taker taker;
    struct rpc *rpc;
    struct db *db;

    scratch_make(&scratch);
    taker_init(&taker);
    db = scratch_open(scratch.url, false);
    rpc = engine_new(1, &taker);
    db_set_fault(db, count_commit, &commits);
    relay = relay_new(db, rpc, RELAY_SHARED);
    for (unsigned i = 1; i <= ROWS; i++) {
        put(db, "a", "k", "x");
        wait_count(&taker, i);
    }
    ck_assert_uint_le(commits, ROWS + ROWS / 2); /* a slow machine has some deletions more */
    wait_rows(db, 0);
    relay_stop(relay);
    rpc->engine->stop(rpc);
    db_close(db);
}
END_TEST

START_TEST(the_thread_goes_on_after_a_failure) {
    autoscratch struct scratch scratch;
    struct relay *relay;
    struct taker taker;
    struct rpc *rpc;
    struct db *db;

    scratch_make(&scratch);
    taker_init(&taker);
    db = scratch_open(scratch.url, false);
    rpc = engine_new(1, &taker);
    sql_run(db, "ALTER TABLE outbox RENAME TO hidden");
    relay = relay_new(db, rpc, RELAY_SHARED);
    usleep(50000);
    sql_run(db, "ALTER TABLE hidden RENAME TO outbox");
    put(db, "a", "k", "1");
    wait_count(&taker, 1);
    wait_rows(db, 0);
    relay_stop(relay);
    rpc->engine->stop(rpc);
    db_close(db);
}
END_TEST

/* The child's consumer writes each message to the pipe before it counts as handled. */
static int write_message(void *arg, const struct rpc_message *message, struct error *err) {
    char byte = message->payload[0];

    (void)err;
    return write(*(int *)arg, &byte, 1) == 1 ? 0 : -1;
}

static void relay_child(const char *url, int fd) {
    struct db *db = scratch_open(url, false);
    struct rpc *rpc = rpc_local_new(2);
    struct error err;

    rpc->engine->subscribe(rpc, "a", write_message, &fd, &err);
    relay_new(db, rpc, RELAY_SHARED);
    pause();
}

/* Kills a child after so many deliveries, or when it has nothing more to deliver. */
static void kill_round(const char *url, bool *delivered, unsigned kill_after) {
    struct pollfd readable = { .events = POLLIN };
    int ends[2];
    pid_t child;
    char byte;

    ck_assert_int_eq(pipe(ends), 0);
    child = fork();
    if (child == 0)
        relay_child(url, ends[1]);
    close(ends[1]);
    readable.fd = ends[0];
    for (; kill_after > 0 && poll(&readable, 1, 500) == 1; kill_after--) {
        ck_assert_int_eq(read(ends[0], &byte, 1), 1);
        delivered[byte - '0'] = true;
    }
    kill(child, SIGKILL);
    while (read(ends[0], &byte, 1) == 1)
        delivered[byte - '0'] = true;
    waitpid(child, NULL, 0);
    close(ends[0]);
}

START_TEST(no_message_is_lost_by_kill_9) {
    enum { ROWS = 40 };
    autoscratch struct scratch scratch;
    bool delivered[ROWS] = { false };
    struct db *db;

    scratch_make(&scratch);
    db = scratch_open(scratch.url, true);
    for (int i = 0; i < ROWS; i++) {
        char payload[2] = { (char)('0' + i) };

        put(db, "a", "", payload);
    }
    db_close(db);
    for (unsigned i = 0; i < 10; i++)
        kill_round(scratch.url, delivered, 1 + i * 4);
    /* Whatever is still a row may come again; whatever is no row any more has been delivered. */
    db = scratch_open(scratch.url, true);
    for (int i = 0; i < ROWS; i++) {
        char sql[80];

        snprintf(sql, sizeof(sql), "SELECT COUNT(*) FROM outbox WHERE payload = '%c'", '0' + i);
        ck_assert(delivered[i] || sql_int(db, sql) == 1);
    }
    db_close(db);
}
END_TEST

CHECK_MAIN("relay", a_row_is_published_once_and_deleted_when_confirmed,
           topics_of_others_are_left_alone, a_row_brings_its_project_or_none,
           returned_messages_are_published_again, a_new_relay_takes_over_remaining_rows,
           a_deletion_that_fails_is_tried_again, refused_messages_stay_in_the_table,
           rows_of_other_processes_are_left_to_them_for_a_while,
           more_rows_than_a_batch_keep_their_order, rows_of_a_topic_above_a_limit_wait_in_the_table,
           a_project_leaves_slots_of_a_topic_to_others,
           rows_of_a_topic_above_a_limit_of_bytes_wait_in_the_table,
           notifications_above_a_limit_are_dropped, the_thread_drops_notifications_above_a_limit,
           no_notification_is_dropped_before_the_limit_is_known,
           the_thread_brings_every_row_once_and_empties_the_table,
           the_thread_finds_rows_of_other_programs_by_itself, confirmed_rows_are_deleted_together,
           the_thread_goes_on_after_a_failure, no_message_is_lost_by_kill_9)
