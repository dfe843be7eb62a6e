/*
 * The sender with an arbitrary broker: each message is confirmed once, as taken only when the
 * broker has confirmed it.
 */
#include "rpc/amqp/sender.h"

#include "common/arena.h"
#include "common/log.h"
#include "tests/unit/rpc/amqp/broker.h"

#include <pthread.h>
#include <time.h>

#define EXCHANGE "exchange"

/* ---- outcomes of messages ---- */

enum { MESSAGES = 16 };

static struct verdicts {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int of[MESSAGES]; /* 0: none yet, 1 taken, -1 not */
} verdicts = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void confirm(void *arg, bool taken) {
    int *verdict = arg;

    pthread_mutex_lock(&verdicts.lock);
    ck_assert_int_eq(*verdict, 0); /* once */
    *verdict = taken ? 1 : -1;
    pthread_cond_broadcast(&verdicts.changed);
    pthread_mutex_unlock(&verdicts.lock);
}

static int verdict_of(unsigned i) {
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += BROKER_WAIT_MS / 1000;
    pthread_mutex_lock(&verdicts.lock);
    while (verdicts.of[i] == 0)
        ck_assert_msg(pthread_cond_timedwait(&verdicts.changed, &verdicts.lock, &until) == 0,
                      "nothing is said of message %u", i);
    pthread_mutex_unlock(&verdicts.lock);
    return verdicts.of[i];
}

static bool is_open(unsigned i) {
    bool open;

    pthread_mutex_lock(&verdicts.lock);
    open = verdicts.of[i] == 0;
    pthread_mutex_unlock(&verdicts.lock);
    return open;
}

/* ---- a sender and its broker ---- */

struct scene {
    struct arena *arena;
    struct amqp_url url;
    struct broker broker;
    struct sender *sender;
};

static void scene_begin(struct scene *scene, int heartbeat_s) {
    struct sender_settings settings = {
        .link = { .url = &scene->url,
                  .clock = &clock_system,
                  .program = "test",
                  .heartbeat_s = heartbeat_s,
                  .retry_ms = 1,
                  .retry_more_ms = 1,
                  .retry_most_ms = 10 },
        .exchange = EXCHANGE,
        .durable = true,
    };
    struct error err;

    log_open(-1, LOG_ERROR, LOG_TEXT);
    memset(verdicts.of, 0, sizeof(verdicts.of));
    scene->arena = arena_new();
    broker_begin(&scene->broker);
    scene->broker.heartbeat_s = heartbeat_s;
    ck_assert_int_eq(amqp_url_parse(scene->arena, scene->broker.url, false, &scene->url, &err), 0);
    scene->sender = sender_new(&settings);
}

static void scene_end(struct scene *scene) {
    broker_leave(&scene->broker);
    sender_stop(scene->sender);
    sender_free(scene->sender);
    broker_end(&scene->broker);
    arena_free(scene->arena);
}
#define autoscene __attribute__((cleanup(scene_end)))

static void put(struct scene *scene, unsigned i, const char *key, enum send_where where,
                const char *body, size_t size) {
    const struct send_message message = { .where = where,
                                          .routing_key = "topic",
                                          .key = key,
                                          .content_type = "application/json",
                                          .body = body,
                                          .size = size };

    sender_put(scene->sender, &message, confirm, &verdicts.of[i]);
}

/* "m0" to "m9", straight to a queue: nothing is declared for them. */
static void put_plain(struct scene *scene, unsigned i) {
    const char body[] = { 'm', (char)('0' + i) };

    put(scene, i, "", SEND_QUEUE, body, sizeof(body));
}

static void confirms(struct broker *broker) {
    broker_expect(broker, LINK_WORK, AMQP_CONFIRM_SELECT_METHOD);
    BROKER_SEND(broker, LINK_WORK, AMQP_CONFIRM_SELECT_OK_METHOD, amqp_confirm_select_ok_t,
                .dummy = 0);
}

static void serve(struct broker *broker) {
    broker_accept(broker, BROKER_READY);
    confirms(broker);
}

static void expect_body(struct broker *broker, const char *body) {
    broker_expect(broker, LINK_WORK, AMQP_BASIC_PUBLISH_METHOD);
    ck_assert_str_eq(broker->body, body);
}

static void expect_plain(struct broker *broker, unsigned i) {
    const char body[] = { 'm', (char)('0' + i), '\0' };

    expect_body(broker, body);
}

/* ---- the broker's confirmations ---- */

START_TEST(frames_are_read_in_pieces_of_any_size) {
    for (size_t piece = 1; piece <= 24; piece++) {
        autoscene struct scene scene;

        scene_begin(&scene, 0);
        scene.broker.piece = piece;
        serve(&scene.broker);
        for (unsigned i = 0; i < 5; i++) {
            put_plain(&scene, i);
            expect_plain(&scene.broker, i);
        }
        broker_nack(&scene.broker, 2, false);
        ck_assert_int_eq(verdict_of(1), -1);
        ck_assert(is_open(0));
        broker_ack(&scene.broker, 3, true);
        ck_assert_int_eq(verdict_of(0), 1);
        ck_assert_int_eq(verdict_of(2), 1);
        ck_assert(is_open(3));
        broker_nack(&scene.broker, 5, true);
        ck_assert_int_eq(verdict_of(3), -1);
        ck_assert_int_eq(verdict_of(4), -1);
    }
}
END_TEST

/* Words about messages that are none. */
START_TEST(unexpected_frames_change_nothing) {
    autoscene struct scene scene;
    struct broker *broker = &scene.broker;

    scene_begin(&scene, 0);
    serve(broker);
    put_plain(&scene, 0);
    expect_plain(broker, 0);
    broker_ack(broker, 2, false);
    broker_ack(broker, UINT64_MAX, true);
    broker_nack(broker, 0, false);
    broker_ack(broker, 1, false);
    ck_assert_int_eq(verdict_of(0), 1);
    broker_nack(broker, 1, false); /* another one about the same */
    broker_nack(broker, 1, true);
    put_plain(&scene, 1);
    expect_plain(broker, 1);
    broker_ack(broker, 2, false);
    ck_assert_int_eq(verdict_of(1), 1);
}
END_TEST

static void send_back(struct broker *broker, const char *id, const char *body, size_t piece) {
    amqp_basic_properties_t properties = { ._flags = AMQP_BASIC_MESSAGE_ID_FLAG,
                                           .message_id = amqp_cstring_bytes(id) };

    BROKER_SEND(broker, LINK_WORK, AMQP_BASIC_RETURN_METHOD, amqp_basic_return_t, .reply_code = 312,
                .reply_text = amqp_cstring_bytes("NO_ROUTE"), .exchange = amqp_empty_bytes,
                .routing_key = amqp_cstring_bytes("topic"));
    broker_content(broker, LINK_WORK, &properties, body, strlen(body), piece);
}

START_TEST(a_returned_message_is_reported_as_not_taken) {
    for (size_t piece = 0; piece <= 3; piece++) {
        autoscene struct scene scene;
        struct broker *broker = &scene.broker;

        scene_begin(&scene, 0);
        broker->piece = piece;
        serve(broker);
        for (unsigned i = 0; i < 4; i++) {
            put_plain(&scene, i);
            expect_plain(broker, i);
        }
        send_back(broker, "2", "m1", 1);
        send_back(broker, "3", "", 1);
        send_back(broker, "nonsense", "m9", 2);
        send_back(broker, "77", "m9", 2);
        broker_ack(broker, 4, true);
        ck_assert_int_eq(verdict_of(0), 1);
        ck_assert_int_eq(verdict_of(1), -1);
        ck_assert_int_eq(verdict_of(2), -1);
        ck_assert_int_eq(verdict_of(3), 1);
    }
}
END_TEST

/* ---- the end of a connection ---- */

static void close_work(struct broker *broker) {
    broker_close_channel(broker, LINK_WORK, 404);
    broker_await_end(broker);
}

static void close_declare(struct broker *broker) {
    broker_close_channel(broker, LINK_DECLARE, 541);
    broker_await_end(broker);
}

/* An acknowledgement of all, but for its last byte. */
static void hang_up_in_a_word(struct broker *broker) {
    unsigned char frame[64];
    size_t size = broker_method(frame, LINK_WORK, AMQP_BASIC_ACK_METHOD,
                                &(amqp_basic_ack_t){ .delivery_tag = 3, .multiple = 1 });

    broker_send(broker, frame, size - 1);
    broker_hang_up(broker);
}

static void send_a_wrong_end(struct broker *broker) {
    unsigned char frame[64];
    size_t size = broker_method(frame, LINK_WORK, AMQP_BASIC_ACK_METHOD,
                                &(amqp_basic_ack_t){ .delivery_tag = 3, .multiple = 1 });

    frame[size - 1] = 0;
    broker_send(broker, frame, size);
    broker_await_end(broker);
}

static void send_an_empty_body(struct broker *broker) {
    unsigned char frame[64];

    broker_send(broker, frame, broker_frame(frame, AMQP_FRAME_BODY, LINK_WORK, "abc", 3));
    broker_await_end(broker);
}

static void send_too_long_a_frame(struct broker *broker) {
    static const unsigned char head[] = { AMQP_FRAME_METHOD, 0, 1, 0x7f, 0xff, 0xff, 0xff };

    broker_send(broker, head, sizeof(head));
    broker_await_end(broker);
}

static void come_back_half(struct broker *broker) {
    BROKER_SEND(broker, LINK_WORK, AMQP_BASIC_RETURN_METHOD, amqp_basic_return_t, .reply_code = 312,
                .reply_text = amqp_cstring_bytes("NO_ROUTE"), .exchange = amqp_empty_bytes,
                .routing_key = amqp_cstring_bytes("topic"));
    broker_hang_up(broker);
}

/* A returned message is sent again as well: whether it would have been confirmed is unknown. */
static void come_back_and_go(struct broker *broker) {
    send_back(broker, "2", "m1", 2);
    broker_hang_up(broker);
}

static void block_and_go(struct broker *broker) {
    BROKER_SEND(broker, 0, AMQP_CONNECTION_BLOCKED_METHOD, amqp_connection_blocked_t,
                .reason = amqp_cstring_bytes("low on memory"));
    broker_hang_up(broker);
}

static void (*const ends[])(struct broker *broker) = {
    broker_close_connection, close_work,       close_declare,        broker_hang_up,
    hang_up_in_a_word,       send_a_wrong_end, broker_send_nonsense, send_an_empty_body,
    send_too_long_a_frame,   come_back_half,   come_back_and_go,     block_and_go,
};

/* The first of three is confirmed, then the connection ends in some way: the others come again, in
 * their order, and have no outcome before. */
START_TEST(unconfirmed_messages_are_sent_again_on_the_next_connection) {
    for (size_t end = 0; end < LENGTH(ends); end++) {
        autoscene struct scene scene;
        struct broker *broker = &scene.broker;

        scene_begin(&scene, 0);
        serve(broker);
        for (unsigned i = 0; i < 3; i++) {
            put_plain(&scene, i);
            expect_plain(broker, i);
        }
        broker_ack(broker, 1, false);
        ck_assert_int_eq(verdict_of(0), 1);
        ends[end](broker);
        serve(broker);
        expect_plain(broker, 1);
        expect_plain(broker, 2);
        ck_assert(is_open(1) && is_open(2));
        broker_ack(broker, 2, true); /* their numbers restart */
        ck_assert_int_eq(verdict_of(1), 1);
        ck_assert_int_eq(verdict_of(2), 1);
    }
}
END_TEST

/* A key's messages wait for each other, also over the end of a connection. */
START_TEST(a_key_keeps_its_order_over_connections) {
    autoscene struct scene scene;
    struct broker *broker = &scene.broker;

    scene_begin(&scene, 0);
    serve(broker);
    put(&scene, 0, "k", SEND_QUEUE, "a", 1);
    put(&scene, 1, "k", SEND_QUEUE, "b", 1);
    put(&scene, 2, "k", SEND_QUEUE, "c", 1);
    expect_body(broker, "a");
    broker_hang_up(broker);
    serve(broker);
    expect_body(broker, "a");
    broker_ack(broker, 1, false);
    expect_body(broker, "b");
    broker_close_connection(broker);
    serve(broker);
    expect_body(broker, "b");
    broker_nack(broker, 1, false); /* takes the frame behind it along */
    ck_assert_int_eq(verdict_of(0), 1);
    ck_assert_int_eq(verdict_of(1), -1);
    ck_assert_int_eq(verdict_of(2), -1);
}
END_TEST

static const char *const step_names[] = { "connected", "greeted", "started",  "tuned",
                                          "opened",    "works",   "declares", "ready" };

/* At each step of the beginning the broker goes: politely, or without a frame. */
START_TEST(a_failed_connection_is_retried) {
    autoscene struct scene scene;
    struct broker *broker = &scene.broker;

    scene_begin(&scene, 0);
    put_plain(&scene, 0);
    for (int polite = 0; polite <= 1; polite++)
        for (enum broker_step step = BROKER_CONNECTED; step <= BROKER_READY; step++) {
            broker_accept(broker, step);
            if (polite && step >= BROKER_STARTED) {
                broker_close_connection(broker);
            }
            ck_assert_msg(is_open(0), "%s", step_names[step]);
        }
    serve(broker);
    expect_plain(broker, 0);
    broker_ack(broker, 1, false);
    ck_assert_int_eq(verdict_of(0), 1);
}
END_TEST

/* ---- declarations ---- */

static void expect_exchange(struct broker *broker) {
    broker_expect(broker, LINK_DECLARE, AMQP_EXCHANGE_DECLARE_METHOD);
    BROKER_SEND(broker, LINK_DECLARE, AMQP_EXCHANGE_DECLARE_OK_METHOD, amqp_exchange_declare_ok_t,
                .dummy = 0);
}

/* Words about other messages come while the answer to a declaration is waited for. */
START_TEST(a_frame_before_the_expected_one_is_read) {
    for (size_t piece = 0; piece <= 3; piece++) {
        autoscene struct scene scene;
        struct broker *broker = &scene.broker;

        scene_begin(&scene, 0);
        broker->piece = piece;
        serve(broker);
        put_plain(&scene, 0);
        put_plain(&scene, 1);
        expect_plain(broker, 0);
        expect_plain(broker, 1);
        put(&scene, 2, "", SEND_TOPIC, "t", 1);
        broker_expect(broker, LINK_DECLARE, AMQP_EXCHANGE_DECLARE_METHOD);
        broker_ack(broker, 1, false);
        send_back(broker, "2", "m1", 1);
        broker_ack(broker, 2, false);
        BROKER_SEND(broker, LINK_DECLARE, AMQP_EXCHANGE_DECLARE_OK_METHOD,
                    amqp_exchange_declare_ok_t, .dummy = 0);
        expect_body(broker, "t");
        broker_ack(broker, 3, false);
        ck_assert_int_eq(verdict_of(0), 1);
        ck_assert_int_eq(verdict_of(1), -1);
        ck_assert_int_eq(verdict_of(2), 1);
    }
}
END_TEST

START_TEST(a_connection_lost_during_a_declaration_is_retried) {
    static void (*const ends_in_it[])(
        struct broker * broker) = { broker_close_connection, broker_hang_up, broker_send_nonsense };

    for (size_t end = 0; end < LENGTH(ends_in_it); end++) {
        autoscene struct scene scene;
        struct broker *broker = &scene.broker;

        scene_begin(&scene, 0);
        serve(broker);
        put(&scene, 0, "", SEND_TOPIC, "t", 1);
        broker_expect(broker, LINK_DECLARE, AMQP_EXCHANGE_DECLARE_METHOD);
        ends_in_it[end](broker);
        serve(broker);
        expect_exchange(broker);
        expect_body(broker, "t");
        broker_ack(broker, 1, false);
        ck_assert_int_eq(verdict_of(0), 1);
    }
}
END_TEST

/* Another's queue of the name, of another kind, is used as it is. */
START_TEST(a_queue_of_another_kind_takes_messages) {
    autoscene struct scene scene;
    struct broker *broker = &scene.broker;

    scene_begin(&scene, 0);
    serve(broker);
    put(&scene, 0, "", SEND_NOTIFICATION, "n", 1);
    expect_exchange(broker);
    broker_expect(broker, LINK_DECLARE, AMQP_QUEUE_DECLARE_METHOD);
    broker_close_channel(broker, LINK_DECLARE, 406);
    broker_expect(broker, LINK_DECLARE, AMQP_CHANNEL_CLOSE_OK_METHOD);
    broker_open_channel(broker, LINK_DECLARE);
    expect_body(broker, "n");
    broker_ack(broker, 1, false);
    ck_assert_int_eq(verdict_of(0), 1);
    put(&scene, 1, "", SEND_NOTIFICATION, "o", 1);
    expect_body(broker, "o"); /* it is not requested again */
    broker_ack(broker, 2, false);
    ck_assert_int_eq(verdict_of(1), 1);
}
END_TEST

/* ---- an unresponsive broker ---- */

START_TEST(an_unresponsive_broker_is_disconnected) {
    autoscene struct scene scene;
    struct broker *broker = &scene.broker;

    scene_begin(&scene, 1);
    serve(broker);
    put_plain(&scene, 0);
    expect_plain(broker, 0);
    broker_await_end(broker); /* by the client, which gets no heartbeat */
    ck_assert(is_open(0));
    serve(broker);
    expect_plain(broker, 0);
    broker_ack(broker, 1, false);
    ck_assert_int_eq(verdict_of(0), 1);
}
END_TEST

static void beat(struct broker *broker) {
    unsigned char frame[8];

    broker_send(broker, frame, broker_frame(frame, AMQP_FRAME_HEARTBEAT, 0, "", 0));
}

/* Nothing is sent to it until it reports that it takes messages; heartbeats are. */
START_TEST(a_broker_that_is_blocked_is_waited_for) {
    autoscene struct scene scene;
    struct broker *broker = &scene.broker;
    struct pollfd file;

    scene_begin(&scene, 1);
    serve(broker);
    put_plain(&scene, 0);
    expect_plain(broker, 0);
    BROKER_SEND(broker, 0, AMQP_CONNECTION_BLOCKED_METHOD, amqp_connection_blocked_t,
                .reason = amqp_cstring_bytes("low on memory"));
    broker_ack(broker, 1, false);
    ck_assert_int_eq(verdict_of(0), 1); /* so it has received that, too */
    put_plain(&scene, 1);
    file = (struct pollfd){ .fd = broker->fd, .events = POLLIN };
    for (unsigned beats = 0; beats < 4; beats++) {
        char frame[8];

        beat(broker);
        ck_assert_int_eq(poll(&file, 1, BROKER_WAIT_MS), 1);
        broker_bytes(broker, frame, sizeof(frame));
        ck_assert_int_eq(frame[0], AMQP_FRAME_HEARTBEAT);
    }
    BROKER_SEND(broker, 0, AMQP_CONNECTION_UNBLOCKED_METHOD, amqp_connection_unblocked_t,
                .dummy = 0);
    expect_plain(broker, 1);
    broker_ack(broker, 2, false);
    ck_assert_int_eq(verdict_of(1), 1);
}
END_TEST

/* ---- the end ---- */

START_TEST(stopping_fails_unconfirmed_messages) {
    struct scene scene;

    scene_begin(&scene, 0);
    serve(&scene.broker);
    put(&scene, 0, "k", SEND_QUEUE, "a", 1);
    put(&scene, 1, "k", SEND_QUEUE, "b", 1);
    expect_body(&scene.broker, "a");
    put_plain(&scene, 2);
    expect_plain(&scene.broker, 2);
    broker_ack(&scene.broker, 2, false);
    ck_assert_int_eq(verdict_of(2), 1);
    sender_stop(scene.sender); /* waits for the rest for a while */
    ck_assert_int_eq(verdict_of(0), -1);
    ck_assert_int_eq(verdict_of(1), -1);
    put_plain(&scene, 3);
    ck_assert_int_eq(verdict_of(3), -1);
    sender_free(scene.sender);
    broker_end(&scene.broker);
    arena_free(scene.arena);
}
END_TEST

static void *stop(void *sender) {
    sender_stop(sender);
    return NULL;
}

/* All has been sent, and the close is answered with arbitrary frames. */
START_TEST(a_close_needs_no_valid_response) {
    static void (*const ends_in_it[])(
        struct broker * broker) = { broker_close_connection, broker_hang_up, broker_send_nonsense };

    for (size_t end = 0; end < LENGTH(ends_in_it); end++) {
        struct scene scene;
        pthread_t thread;

        scene_begin(&scene, 0);
        serve(&scene.broker);
        put_plain(&scene, 0);
        expect_plain(&scene.broker, 0);
        broker_ack(&scene.broker, 1, false);
        ck_assert_int_eq(verdict_of(0), 1);
        ck_assert_int_eq(pthread_create(&thread, NULL, stop, scene.sender), 0);
        broker_expect(&scene.broker, 0, AMQP_CONNECTION_CLOSE_METHOD);
        ends_in_it[end](&scene.broker);
        ck_assert_int_eq(pthread_join(thread, NULL), 0);
        sender_free(scene.sender);
        broker_end(&scene.broker);
        arena_free(scene.arena);
    }
}
END_TEST

CHECK_MAIN("sender", frames_are_read_in_pieces_of_any_size, unexpected_frames_change_nothing,
           a_returned_message_is_reported_as_not_taken,
           unconfirmed_messages_are_sent_again_on_the_next_connection,
           a_key_keeps_its_order_over_connections, a_failed_connection_is_retried,
           a_frame_before_the_expected_one_is_read,
           a_connection_lost_during_a_declaration_is_retried,
           a_queue_of_another_kind_takes_messages, an_unresponsive_broker_is_disconnected,
           a_broker_that_is_blocked_is_waited_for, stopping_fails_unconfirmed_messages,
           a_close_needs_no_valid_response)
