/*
 * The promises of rpc/rpc.h, tested with the engine and a broker behind it: those of
 * tests/unit/rpc/test_local.c and test_relay.c.
 *
 *     SCORIA_BROKER=rabbit://… engine
 */
#include "common/log.h"
#include "db/outbox.h"
#include "rpc/amqp/amqp.h"
#include "rpc/amqp/sender.h"
#include "rpc/relay.h"
#include "tests/unit/db/scratch.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { KEYS = 8, EACH = 40, WAIT_MS = 90000 };

static const struct option *const tables[] = { amqp_options, NULL };

/* The messages of consumers and the confirmations of publishers. */
struct witness {
    pthread_mutex_t lock;
    unsigned seen, refuse, kept, given_back;
    bool busy[KEYS];
    int next[KEYS]; /* number that the next message of a key must have */
    int64_t first_us, last_us;
};

static struct witness witness = { .lock = PTHREAD_MUTEX_INITIALIZER };
static char topic[64];
static struct config *config;

static void setup(void) {
    char uuid[UUID_SIZE];

    log_open(-1, LOG_ERROR, LOG_TEXT);
    memset(&witness, 0, sizeof witness);
    pthread_mutex_init(&witness.lock, NULL);
    snprintf(topic, sizeof topic, "engine-%s", clock_uuid(&clock_system, uuid));
    ck_assert_int_eq(config_load(tables, NULL, NULL, &config, NULL), 0);
}

static void teardown(void) {
    config_free(config);
}

static struct rpc *engine_new(const char *server, rpc_consumer *consumer) {
    struct amqp_settings settings = {
        .config = config,
        .clock = &clock_system,
        .url = getenv("SCORIA_BROKER"),
        .program = "engine",
        .server = server,
        .workers = 4,
    };
    struct error err = { 0 };
    struct rpc *rpc;

    ck_assert_msg(rpc_amqp_new(&settings, &rpc, &err) == 0, "%s", err.message);
    ck_assert_str_eq(rpc->engine->name, "amqp");
    if (consumer) {
        ck_assert_int_eq(rpc->engine->subscribe(rpc, topic, consumer, &witness, &err), 0);
        ck_assert_int_eq(rpc->engine->subscribe(rpc, topic, consumer, &witness, &err), -1);
        ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    }
    rpc_amqp_start(rpc);
    return rpc;
}

static unsigned value_of(const unsigned *value) {
    unsigned now;

    pthread_mutex_lock(&witness.lock);
    now = *value;
    pthread_mutex_unlock(&witness.lock);
    return now;
}

static void wait_for(const unsigned *value, unsigned count) {
    for (int i = 0; i < WAIT_MS / 10 && value_of(value) < count; i++)
        usleep(10000);
    ck_assert_uint_ge(value_of(value), count);
}

static void confirm(void *arg, bool taken) {
    (void)arg;
    pthread_mutex_lock(&witness.lock);
    witness.kept += taken;
    witness.given_back += !taken;
    pthread_mutex_unlock(&witness.lock);
}

static void publish(struct rpc *rpc, const char *key, const char *payload) {
    struct rpc_message message = {
        .topic = topic, .method = "extend", .key = key, .payload = payload
    };
    struct error err;

    ck_assert_int_eq(rpc->engine->publish(rpc, &message, confirm, NULL, &err), 0);
}

/* Until the broker has a queue for the topic. */
static void publish_for_sure(struct rpc *rpc, const char *key, const char *payload) {
    unsigned kept = value_of(&witness.kept);

    for (int i = 0; i < WAIT_MS / 10 && value_of(&witness.kept) == kept; i++) {
        unsigned given_back = value_of(&witness.given_back);

        publish(rpc, key, payload);
        while (value_of(&witness.kept) == kept && value_of(&witness.given_back) == given_back)
            usleep(10000);
        usleep(10000);
    }
    ck_assert_uint_eq(value_of(&witness.kept), kept + 1);
}

static int number_of(const struct rpc_message *message, const char *name) {
    char pattern[16];
    const char *found;

    snprintf(pattern, sizeof pattern, "\"%s\":", name);
    found = strstr(message->payload, pattern);
    return found ? atoi(found + strlen(pattern)) : -1;
}

/* Payload {"key": n, "number": m}: those of one key in order, never two at once. */
static int consume_ordered(void *arg, const struct rpc_message *message, struct error *err) {
    int key = number_of(message, "key"), number = number_of(message, "number");

    (void)arg, (void)err;
    if (key < 0)
        return 0;
    pthread_mutex_lock(&witness.lock);
    ck_assert(!witness.busy[key]);
    ck_assert_int_eq(number, witness.next[key]);
    witness.busy[key] = true;
    pthread_mutex_unlock(&witness.lock);
    usleep(200);
    pthread_mutex_lock(&witness.lock);
    witness.busy[key] = false;
    witness.next[key]++;
    witness.seen++;
    pthread_mutex_unlock(&witness.lock);
    return 0;
}

START_TEST(messages_of_a_key_keep_their_order) {
    struct rpc *rpc = engine_new("one", consume_ordered);

    publish_for_sure(rpc, "", "{}");
    for (int i = 0; i < KEYS * EACH; i++) {
        char key[16], payload[64];

        snprintf(key, sizeof key, "k%d", i % KEYS);
        snprintf(payload, sizeof payload, "{\"key\":%d,\"number\":%d}", i % KEYS, i / KEYS);
        publish(rpc, key, payload);
    }
    wait_for(&witness.seen, KEYS * EACH);
    wait_for(&witness.kept, KEYS * EACH + 1);
    rpc->engine->stop(rpc);
    ck_assert_uint_eq(witness.seen, KEYS * EACH);
}
END_TEST

static int consume(void *arg, const struct rpc_message *message, struct error *err) {
    int result = 0;

    (void)arg;
    ck_assert_ptr_null(message->version);
    ck_assert_ptr_null(message->answer);
    ck_assert_str_eq(message->topic, topic);
    pthread_mutex_lock(&witness.lock);
    witness.last_us = clock_monotonic_us();
    witness.first_us = witness.first_us ? witness.first_us : witness.last_us;
    if (witness.refuse > 0 && strcmp(message->key, "bad") == 0) {
        witness.refuse--;
        result = error_set(err, ERROR_BACKEND, "not now");
    } else {
        witness.seen++;
    }
    pthread_mutex_unlock(&witness.lock);
    return result;
}

START_TEST(unhandled_messages_are_redelivered_after_a_growing_pause) {
    struct rpc *rpc = engine_new("one", consume);

    witness.refuse = 3;
    publish_for_sure(rpc, "bad", "{}");
    wait_for(&witness.seen, 1);
    rpc->engine->stop(rpc);
    ck_assert_uint_eq(witness.seen, 1);
    ck_assert_int_ge(witness.last_us - witness.first_us, 700 * 1000);
}
END_TEST

/* More messages that fail than may be taken at once: the good one behind them gets through. */
START_TEST(a_failing_message_blocks_no_other) {
    struct rpc *rpc = engine_new("one", consume);

    publish_for_sure(rpc, "", "{}");
    wait_for(&witness.seen, 1);
    pthread_mutex_lock(&witness.lock);
    witness.refuse = 1000000;
    pthread_mutex_unlock(&witness.lock);
    for (int i = 0; i < 200; i++)
        publish(rpc, "bad", "{}");
    publish(rpc, "good", "{}");
    wait_for(&witness.seen, 2);
    pthread_mutex_lock(&witness.lock);
    witness.refuse = 0;
    pthread_mutex_unlock(&witness.lock);
    wait_for(&witness.seen, 202);
    rpc->engine->stop(rpc);
    ck_assert_uint_eq(witness.seen, 202);
}
END_TEST

START_TEST(a_message_without_a_queue_is_returned_with_those_behind_it) {
    struct rpc *rpc = engine_new("one", NULL);

    for (int i = 0; i < 5; i++)
        publish(rpc, "k", "{}");
    wait_for(&witness.given_back, 5);
    ck_assert_uint_eq(value_of(&witness.kept), 0);
    ck_assert_int_eq(rpc->engine->reaches(rpc, topic), RPC_EVERYWHERE);
    rpc->engine->stop(rpc);
}
END_TEST

START_TEST(a_stop_leaves_remaining_messages_to_the_next) {
    struct rpc *rpc = engine_new("one", consume);

    publish_for_sure(rpc, "", "{}");
    wait_for(&witness.seen, 1);
    pthread_mutex_lock(&witness.lock);
    witness.refuse = 1000000;
    pthread_mutex_unlock(&witness.lock);
    for (int i = 0; i < 20; i++)
        publish(rpc, "bad", "{}");
    wait_for(&witness.kept, 21);
    rpc->engine->stop(rpc);
    witness.refuse = 0;
    rpc = engine_new("two", consume); /* another server of the same topic */
    wait_for(&witness.seen, 21);
    rpc->engine->stop(rpc);
    ck_assert_uint_eq(witness.seen, 21);
}
END_TEST

struct row {
    const char *key;
    int count;
};

static int put_body(struct db_tx *tx, void *arg, struct error *err) {
    const struct row *row = arg;
    const struct outbox_message message = { .topic = topic,
                                            .method = "extend",
                                            .key = row->key,
                                            .payload = "{}",
                                            .created_at = clock_now_us(&clock_system) };

    for (int i = 0; i < row->count; i++)
        if (outbox_put(tx, &message, err) < 0)
            return -1;
    return 0;
}

START_TEST(the_relay_brings_every_row_once_and_empties_the_table) {
    autoscratch struct scratch scratch;
    struct row row = { "k", 100 };
    struct rpc *rpc = engine_new("one", consume);
    struct error err = { 0 };
    struct relay *relay;
    struct db *db;

    scratch_make(&scratch);
    db = scratch_open(scratch.url, false);
    publish_for_sure(rpc, "", "{}");
    relay = relay_new(db, rpc, RELAY_SHARED);
    ck_assert_int_eq(db_transaction(db, put_body, &row, &err), 0);
    wait_for(&witness.seen, 101);
    for (int i = 0; i < WAIT_MS / 10 && sql_int(db, "SELECT COUNT(*) FROM outbox") > 0; i++)
        usleep(10000);
    ck_assert_int_eq(sql_int(db, "SELECT COUNT(*) FROM outbox"), 0);
    relay_stop(relay);
    rpc->engine->stop(rpc);
    ck_assert_uint_eq(witness.seen, 101);
    db_close(db);
}
END_TEST

int main(void) {
    const TTest *const tests[] = {
        messages_of_a_key_keep_their_order,
        unhandled_messages_are_redelivered_after_a_growing_pause,
        a_failing_message_blocks_no_other,
        a_message_without_a_queue_is_returned_with_those_behind_it,
        a_stop_leaves_remaining_messages_to_the_next,
        the_relay_brings_every_row_once_and_empties_the_table,
    };
    Suite *suite = suite_create("engine");
    TCase *cases = tcase_create("amqp");
    SRunner *runner;
    int failed;

    if (!getenv("SCORIA_BROKER")) {
        fputs("SCORIA_BROKER is not set\n", stderr);
        return EXIT_FAILURE;
    }
    tcase_set_timeout(cases, 300);
    tcase_add_checked_fixture(cases, setup, teardown);
    for (size_t i = 0; i < LENGTH(tests); i++)
        tcase_add_test(cases, tests[i]);
    suite_add_tcase(suite, cases);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
