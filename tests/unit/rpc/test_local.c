#include "rpc/rpc.h"

#include "common/clock.h"
#include "common/log.h"
#include "tests/lib/check_main.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The messages of a consumer and the confirmations of a publisher. */
struct witness {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    char seen[4096]; /* payloads, in order */
    unsigned count;
    unsigned refuse;           /* so many deliveries fail first */
    unsigned kept, given_back; /* confirm(true), confirm(false) */
    int64_t first_us, last_us;
};

static void witness_init(struct witness *witness) {
    memset(witness, 0, sizeof(*witness));
    pthread_mutex_init(&witness->lock, NULL);
    pthread_cond_init(&witness->changed, NULL);
    log_open(-1, LOG_ERROR, LOG_TEXT);
}

static int consume(void *arg, const struct rpc_message *message, struct error *err) {
    struct witness *witness = arg;
    bool refused;

    pthread_mutex_lock(&witness->lock);
    strcat(witness->seen, message->payload);
    witness->count++;
    witness->last_us = clock_monotonic_us();
    witness->first_us = witness->first_us ? witness->first_us : witness->last_us;
    refused = witness->refuse > 0;
    witness->refuse -= refused;
    pthread_mutex_unlock(&witness->lock);
    return refused ? error_set(err, ERROR_BACKEND, "not now") : 0;
}

static void confirm(void *arg, bool taken) {
    struct witness *witness = arg;

    pthread_mutex_lock(&witness->lock);
    if (taken)
        witness->kept++;
    else
        witness->given_back++;
    pthread_cond_broadcast(&witness->changed);
    pthread_mutex_unlock(&witness->lock);
}

static void wait_kept(struct witness *witness, unsigned count) {
    pthread_mutex_lock(&witness->lock);
    while (witness->kept < count)
        pthread_cond_wait(&witness->changed, &witness->lock);
    pthread_mutex_unlock(&witness->lock);
}

static struct rpc *engine_new(unsigned workers, rpc_consumer *consumer, struct witness *witness) {
    struct rpc *rpc = rpc_local_new(workers);
    struct error err = { 0 };

    ck_assert_str_eq(rpc->engine->name, "local");
    ck_assert_int_eq(rpc->engine->subscribe(rpc, "volume.a", consumer, witness, &err), 0);
    return rpc;
}

/* The texts are gone when it returns: the engine has its own copy. */
static void publish_of(struct rpc *rpc, struct witness *witness, const char *project,
                       const char *key, const char *payload) {
    char topic[] = "volume.a", method[] = "extend", own_key[40], own_payload[40], own_project[40];
    struct rpc_message message = { .topic = topic,
                                   .method = method,
                                   .key = own_key,
                                   .project = project ? own_project : NULL,
                                   .payload = own_payload };
    struct error err = { 0 };

    snprintf(own_project, sizeof(own_project), "%s", project ? project : "");
    snprintf(own_key, sizeof(own_key), "%s", key);
    snprintf(own_payload, sizeof(own_payload), "%s", payload);
    ck_assert_int_eq(rpc->engine->publish(rpc, &message, confirm, witness, &err), 0);
    memset(own_key, 'X', sizeof(own_key) - 1);
    memset(own_payload, 'X', sizeof(own_payload) - 1);
    memset(own_project, 'X', sizeof(own_project) - 1);
}

static void publish(struct rpc *rpc, struct witness *witness, const char *key,
                    const char *payload) {
    publish_of(rpc, witness, NULL, key, payload);
}

START_TEST(steps_deliver_the_chosen_message_in_the_order_of_its_key) {
    struct witness witness;
    struct rpc *rpc;

    witness_init(&witness);
    rpc = engine_new(0, consume, &witness);
    publish(rpc, &witness, "k1", "a");
    publish(rpc, &witness, "k2", "b");
    publish(rpc, &witness, "k1", "c");
    publish(rpc, &witness, "", "d");
    publish(rpc, &witness, "", "e");
    ck_assert_uint_eq(rpc_local_waiting(rpc), 5);
    ck_assert(!rpc_local_step(rpc, 5));
    ck_assert(rpc_local_step(rpc, 4));
    ck_assert_str_eq(witness.seen, "e");
    ck_assert(rpc_local_step(rpc, 2)); /* c must wait for a */
    ck_assert_str_eq(witness.seen, "ea");
    ck_assert(rpc_local_step(rpc, 1));
    ck_assert(rpc_local_step(rpc, 0));
    ck_assert_str_eq(witness.seen, "eacb");
    ck_assert_uint_eq(witness.kept, 4);
    ck_assert(rpc_local_step(rpc, 0));
    ck_assert(!rpc_local_step(rpc, 0));
    ck_assert_uint_eq(witness.kept, 5);
    ck_assert_uint_eq(witness.given_back, 0);
    rpc->engine->stop(rpc);
}
END_TEST

/* ---- handed over ---- */

static int consume_handed(void *arg, const struct rpc_message *message, struct error *err) {
    struct witness *witness = arg;

    ck_assert_str_eq(message->topic, "volume.a");
    strcat(witness->seen, "!");
    return consume(arg, message, err);
}

static int hand_over(struct rpc *rpc, struct witness *witness, const char *topic, const char *key,
                     const char *payload) {
    const struct rpc_message message = {
        .topic = topic, .method = "", .key = key, .payload = payload
    };
    const struct rpc_receiver receiver = { consume_handed, confirm, witness };
    struct error err = { 0 };

    return rpc->engine->hand_over(rpc, &message, &receiver, &err);
}

START_TEST(work_handed_over_is_among_the_messages_of_its_key) {
    struct witness witness;
    struct rpc *rpc;

    witness_init(&witness);
    rpc = engine_new(0, consume, &witness);
    publish(rpc, &witness, "k1", "a");
    ck_assert_int_eq(hand_over(rpc, &witness, "volume.a", "k1", "b"), 0);
    publish(rpc, &witness, "k1", "c");
    ck_assert_int_eq(hand_over(rpc, &witness, "volume.b", "k1", "d"), -1);
    for (int i = 2; i >= 0; i--)
        ck_assert(rpc_local_step(rpc, (unsigned)i));
    ck_assert_str_eq(witness.seen, "a!bc");
    ck_assert_uint_eq(witness.kept, 3);

    witness.refuse = 1;
    ck_assert_int_eq(hand_over(rpc, &witness, "volume.a", "k1", "e"), 0);
    ck_assert(rpc_local_step(rpc, 0));
    ck_assert_uint_eq(rpc_local_waiting(rpc), 1);
    rpc->engine->stop(rpc);
    ck_assert_uint_eq(witness.given_back, 1);
}
END_TEST

START_TEST(workers_keep_the_order_of_handed_work) {
    struct witness witness;
    struct rpc *rpc;

    witness_init(&witness);
    rpc = engine_new(4, consume, &witness);
    for (int i = 0; i < 10; i++) {
        publish(rpc, &witness, "k1", "a");
        ck_assert_int_eq(hand_over(rpc, &witness, "volume.a", "k1", "b"), 0);
    }
    wait_kept(&witness, 20);
    ck_assert_str_eq(witness.seen, "a!ba!ba!ba!ba!ba!ba!ba!ba!ba!b");
    rpc->engine->stop(rpc);
}
END_TEST

START_TEST(a_message_not_handled_goes_to_the_end) {
    struct witness witness;
    struct rpc *rpc;

    witness_init(&witness);
    witness.refuse = 1;
    rpc = engine_new(0, consume, &witness);
    publish(rpc, &witness, "k1", "a");
    publish(rpc, &witness, "k2", "b");
    ck_assert(rpc_local_step(rpc, 0));
    ck_assert_uint_eq(rpc_local_waiting(rpc), 2);
    ck_assert_uint_eq(witness.kept, 0);
    ck_assert(rpc_local_step(rpc, 0));
    ck_assert(rpc_local_step(rpc, 0));
    ck_assert_str_eq(witness.seen, "aba");
    ck_assert_uint_eq(witness.kept, 2);
    rpc->engine->stop(rpc);
}
END_TEST

START_TEST(dropped_and_remaining_messages_are_returned) {
    struct witness witness;
    struct rpc *rpc;

    witness_init(&witness);
    rpc = engine_new(0, consume, &witness);
    publish(rpc, &witness, "k1", "a");
    publish(rpc, &witness, "k2", "b");
    rpc_local_forget(rpc);
    ck_assert_uint_eq(rpc_local_waiting(rpc), 0);
    ck_assert_uint_eq(witness.given_back, 2);
    publish(rpc, &witness, "k3", "c");
    rpc->engine->stop(rpc);
    ck_assert_uint_eq(witness.given_back, 3);
    ck_assert_uint_eq(witness.kept, 0);
    ck_assert_str_eq(witness.seen, "");
}
END_TEST

START_TEST(a_topic_has_one_consumer_and_an_unknown_one_is_not_taken) {
    struct rpc_message message = {
        .topic = "volume.b", .method = "extend", .key = "k", .payload = "{}"
    };
    struct error err = { 0 };
    struct witness witness;
    struct rpc *rpc;

    witness_init(&witness);
    rpc = engine_new(0, consume, &witness);
    ck_assert(rpc->engine->reaches(rpc, "volume.a"));
    ck_assert(!rpc->engine->reaches(rpc, "volume.b"));
    ck_assert_int_eq(rpc->engine->subscribe(rpc, "volume.a", consume, &witness, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    ck_assert_int_eq(rpc->engine->publish(rpc, &message, confirm, &witness, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    ck_assert_int_eq(rpc->engine->subscribe(rpc, "volume.b", consume, &witness, &err), 0);
    ck_assert_int_eq(rpc->engine->publish(rpc, &message, confirm, &witness, &err), 0);
    ck_assert(rpc_local_step(rpc, 0));
    ck_assert_uint_eq(witness.kept, 1);
    rpc->engine->stop(rpc);
}
END_TEST

enum { KEYS = 4, EACH = 50 };

/* Payload: "<key index> <number>"; numbers of one key must come in order, never two at once. */
struct ordered {
    struct witness witness;
    pthread_mutex_t busy[KEYS];
    int next[KEYS];
};

static int consume_ordered(void *arg, const struct rpc_message *message, struct error *err) {
    struct ordered *ordered = arg;
    int key = message->payload[0] - '0';

    (void)err;
    ck_assert_int_eq(pthread_mutex_trylock(&ordered->busy[key]), 0);
    ck_assert_int_eq(atoi(message->payload + 2), ordered->next[key]);
    ordered->next[key]++;
    pthread_mutex_unlock(&ordered->busy[key]);
    return 0;
}

START_TEST(workers_keep_the_order_of_each_key) {
    struct ordered ordered = { .next = { 0 } };
    struct error err;
    struct rpc *rpc;

    witness_init(&ordered.witness);
    for (int i = 0; i < KEYS; i++)
        pthread_mutex_init(&ordered.busy[i], NULL);
    rpc = rpc_local_new(4);
    ck_assert_int_eq(rpc->engine->subscribe(rpc, "volume.a", consume_ordered, &ordered, &err), 0);
    for (int i = 0; i < KEYS * EACH; i++) {
        char key[16], payload[32];

        snprintf(key, sizeof(key), "k%d", i % KEYS);
        snprintf(payload, sizeof(payload), "%d %d", i % KEYS, i / KEYS);
        publish(rpc, &ordered.witness, key, payload);
    }
    wait_kept(&ordered.witness, KEYS * EACH);
    ck_assert_uint_eq(rpc_local_waiting(rpc), 0);
    rpc->engine->stop(rpc);
    ck_assert_uint_eq(ordered.witness.given_back, 0);
}
END_TEST

START_TEST(workers_try_again_after_a_growing_pause) {
    struct witness witness;
    struct rpc *rpc;

    witness_init(&witness);
    witness.refuse = 2;
    rpc = engine_new(2, consume, &witness);
    publish(rpc, &witness, "k", "a");
    wait_kept(&witness, 1);
    ck_assert_str_eq(witness.seen, "aaa");
    ck_assert_int_ge(witness.last_us - witness.first_us, 300 * 1000);
    rpc->engine->stop(rpc);
    ck_assert_uint_eq(witness.kept, 1);
}
END_TEST

START_TEST(a_stop_returns_messages_that_wait_for_a_retry) {
    struct witness witness;
    struct rpc *rpc;

    witness_init(&witness);
    witness.refuse = 1000;
    rpc = engine_new(1, consume, &witness);
    for (int i = 0; i < 5; i++)
        publish(rpc, &witness, "k", "a");
    rpc->engine->stop(rpc);
    ck_assert_uint_eq(witness.given_back, 5);
    ck_assert_uint_eq(witness.kept, 0);
}
END_TEST

/* Its backend does not answer. */
static int consume_never(void *arg, const struct rpc_message *message, struct error *err) {
    sem_t *answer = arg;

    (void)message, (void)err;
    while (sem_wait(answer) < 0)
        ;
    return 0;
}

START_TEST(a_topic_with_all_workers_busy_delays_no_other) {
    struct rpc_message stuck = {
        .topic = "volume.b", .method = "extend", .key = "", .payload = "{}"
    };
    enum { WORKERS = 2, MESSAGES = 5 };
    struct error err = { 0 };
    struct witness witness;
    struct rpc *rpc;
    sem_t answer;

    witness_init(&witness);
    sem_init(&answer, 0, 0);
    rpc = engine_new(WORKERS, consume, &witness);
    ck_assert_int_eq(rpc->engine->subscribe(rpc, "volume.b", consume_never, &answer, &err), 0);
    for (int i = 0; i < MESSAGES; i++)
        ck_assert_int_eq(rpc->engine->publish(rpc, &stuck, confirm, &witness, &err), 0);
    publish(rpc, &witness, "k", "a");
    wait_kept(&witness, 1);
    ck_assert_str_eq(witness.seen, "a");
    for (int i = 0; i < MESSAGES; i++)
        sem_post(&answer);
    wait_kept(&witness, 1 + MESSAGES);
    rpc->engine->stop(rpc);
}
END_TEST

/* A slow storage, as slow as the test likes. */
struct slow {
    struct witness witness;
    sem_t begun, may_end;
};

static int consume_slowly(void *arg, const struct rpc_message *message, struct error *err) {
    struct slow *slow = arg;

    consume(&slow->witness, message, err);
    sem_post(&slow->begun);
    while (sem_wait(&slow->may_end) < 0)
        ;
    return 0;
}

/* Neither do messages of a release that did not name a project. */
START_TEST(a_project_waits_for_no_other_projects_queue) {
    enum { MANY = 50 };
    struct error err = { 0 };
    struct slow slow;
    struct rpc *rpc = rpc_local_new(1);

    witness_init(&slow.witness);
    sem_init(&slow.begun, 0, 0);
    sem_init(&slow.may_end, 0, 0);
    ck_assert_int_eq(rpc->engine->subscribe(rpc, "volume.a", consume_slowly, &slow, &err), 0);
    publish_of(rpc, &slow.witness, "many", "", "a");
    while (sem_wait(&slow.begun) < 0)
        ;
    for (int i = 1; i < MANY; i++)
        publish_of(rpc, &slow.witness, "many", "", "a");
    publish_of(rpc, &slow.witness, "few", "v1", "b");
    publish_of(rpc, &slow.witness, "few", "v1", "c");
    publish_of(rpc, &slow.witness, NULL, "v2", "-");
    publish_of(rpc, &slow.witness, "", "v2", "+");
    for (int i = 0; i < MANY + 4; i++)
        sem_post(&slow.may_end);
    wait_kept(&slow.witness, MANY + 4);
    slow.witness.seen[9] = '\0';
    ck_assert_str_eq(slow.witness.seen, "ab-ac+aaa");
    rpc->engine->stop(rpc);
}
END_TEST

START_TEST(one_project_never_has_all_workers_of_a_topic) {
    struct error err = { 0 };
    struct slow slow;
    struct rpc *rpc = rpc_local_new(4);

    witness_init(&slow.witness);
    sem_init(&slow.begun, 0, 0);
    sem_init(&slow.may_end, 0, 0);
    ck_assert_int_eq(rpc->engine->subscribe(rpc, "volume.a", consume_slowly, &slow, &err), 0);
    for (int i = 0; i < 5; i++)
        publish_of(rpc, &slow.witness, "many", "", "a");
    for (int i = 0; i < 3; i++)
        sem_wait(&slow.begun);
    publish_of(rpc, &slow.witness, "few", "", "b"); /* while all of the share work */
    sem_wait(&slow.begun);
    ck_assert_str_eq(slow.witness.seen, "aaab");
    for (int i = 0; i < 6; i++)
        sem_post(&slow.may_end);
    wait_kept(&slow.witness, 6);
    rpc->engine->stop(rpc);
}
END_TEST

CHECK_MAIN("local", steps_deliver_the_chosen_message_in_the_order_of_its_key,
           work_handed_over_is_among_the_messages_of_its_key, workers_keep_the_order_of_handed_work,
           a_message_not_handled_goes_to_the_end, dropped_and_remaining_messages_are_returned,
           a_topic_has_one_consumer_and_an_unknown_one_is_not_taken,
           workers_keep_the_order_of_each_key, workers_try_again_after_a_growing_pause,
           a_stop_returns_messages_that_wait_for_a_retry,
           a_topic_with_all_workers_busy_delays_no_other,
           a_project_waits_for_no_other_projects_queue,
           one_project_never_has_all_workers_of_a_topic)
