/*
 * The receiver with arbitrary brokers: a message is acknowledged when it was handled, on the
 * connection that it came on; unhandled ones come again and are handled.
 */
#include "rpc/amqp/receiver.h"

#include "common/log.h"
#include "rpc/envelope.h"
#include "tests/unit/rpc/amqp/broker.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <time.h>

enum { TASKS = LINK_SOURCES, OWN, FANOUT, SOURCES_END }; /* the channels of a topic's queues */

/* ---- handling ---- */

static struct consumer {
    sem_t begun, may_end;
    atomic_bool waits;
    char last[8192]; /* payload */
    atomic_int outcome;
} consumer;

static int consume(void *arg, const struct rpc_message *message, struct error *err) {
    int outcome = consumer.outcome;

    (void)arg;
    ck_assert_uint_lt(strlen(message->payload), sizeof(consumer.last));
    strcpy(consumer.last, message->payload);
    sem_post(&consumer.begun);
    if (consumer.waits)
        while (sem_wait(&consumer.may_end) < 0)
            ;
    return outcome < 0 ? error_set(err, ERROR_UNAVAILABLE, "later") : outcome;
}

static void await_begun(void) {
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += BROKER_WAIT_MS / 1000;
    ck_assert_msg(sem_timedwait(&consumer.begun, &until) == 0, "no message is handled");
}

/* ---- a receiver and its brokers ---- */

struct scene {
    struct arena *arena;
    struct amqp_url url, sender_url;
    struct broker broker, sender_broker;
    struct sender *sender;
    struct receiver *receiver;
};

static struct link_settings link_of(const struct amqp_url *url, int heartbeat_s) {
    return (struct link_settings){ .url = url,
                                   .clock = &clock_system,
                                   .program = "test",
                                   .heartbeat_s = heartbeat_s,
                                   .retry_ms = 1,
                                   .retry_more_ms = 1,
                                   .retry_most_ms = 10 };
}

static void scene_begin(struct scene *scene, int heartbeat_s) {
    struct receiver_settings settings = {
        .link = link_of(&scene->url, heartbeat_s),
        .source = { .exchange = "exchange",
                    .server = "here",
                    .durable = true,
                    .transient_ttl_s = 60,
                    .prefetch = 100 },
        .workers = 2,
    };
    struct sender_settings sender = { .link = link_of(&scene->sender_url, 0),
                                      .exchange = "exchange" };
    struct error err;

    log_open(-1, LOG_ERROR, LOG_TEXT);
    consumer.waits = false;
    consumer.outcome = 0;
    sem_init(&consumer.begun, 0, 0);
    sem_init(&consumer.may_end, 0, 0);
    scene->arena = arena_new();
    broker_begin(&scene->broker);
    broker_begin(&scene->sender_broker);
    scene->broker.heartbeat_s = heartbeat_s;
    ck_assert_int_eq(amqp_url_parse(scene->arena, scene->broker.url, false, &scene->url, &err), 0);
    ck_assert_int_eq(
        amqp_url_parse(scene->arena, scene->sender_broker.url, false, &scene->sender_url, &err), 0);
    scene->sender = sender_new(&sender);
    broker_accept(&scene->sender_broker, BROKER_CONNECTED); /* answers have nowhere to go */
    scene->receiver = receiver_new(&settings, scene->sender);
    ck_assert_int_eq(receiver_subscribe(scene->receiver, "topic", consume, NULL, &err), 0);
    receiver_start(scene->receiver);
}

static void scene_end(struct scene *scene) {
    broker_leave(&scene->broker);
    broker_leave(&scene->sender_broker);
    receiver_drain(scene->receiver);
    sender_stop(scene->sender);
    receiver_free(scene->receiver);
    sender_free(scene->sender);
    broker_end(&scene->sender_broker);
    broker_end(&scene->broker);
    arena_free(scene->arena);
}
#define autoscene __attribute__((cleanup(scene_end)))

/* The requests on a queue's channel, all at once. */
static void expect_source(struct broker *broker, unsigned channel) {
    static const amqp_method_number_t methods[] = {
        AMQP_CHANNEL_OPEN_METHOD, AMQP_EXCHANGE_DECLARE_METHOD, AMQP_QUEUE_DECLARE_METHOD,
        AMQP_QUEUE_BIND_METHOD,   AMQP_BASIC_QOS_METHOD,        AMQP_BASIC_CONSUME_METHOD,
    };

    for (size_t i = 0; i < LENGTH(methods); i++)
        broker_expect(broker, channel, methods[i]);
}

static void open_source(struct broker *broker, unsigned channel) {
    BROKER_SEND(broker, channel, AMQP_CHANNEL_OPEN_OK_METHOD, amqp_channel_open_ok_t,
                .channel_id = amqp_empty_bytes);
    BROKER_SEND(broker, channel, AMQP_BASIC_QOS_OK_METHOD, amqp_basic_qos_ok_t, .dummy = 0);
    BROKER_SEND(broker, channel, AMQP_BASIC_CONSUME_OK_METHOD, amqp_basic_consume_ok_t,
                .consumer_tag = amqp_cstring_bytes(LINK_CONSUMER));
}

static void serve(struct broker *broker) {
    broker_accept(broker, BROKER_READY);
    for (unsigned channel = FANOUT; channel >= TASKS; channel--)
        expect_source(broker, channel);
    for (unsigned channel = TASKS; channel < SOURCES_END; channel++)
        open_source(broker, channel);
}

/* All of one key: one is handled after the other. */
static const char *envelope(struct scene *scene, const char *payload) {
    const struct rpc_message message = {
        .topic = "topic", .method = "extend", .key = "volume", .payload = payload
    };

    return envelope_request(scene->arena, &message,
                            envelope_unique_id(scene->arena, &clock_system));
}

static void begin_delivery(struct broker *broker, unsigned channel, uint64_t tag) {
    BROKER_SEND(broker, channel, AMQP_BASIC_DELIVER_METHOD, amqp_basic_deliver_t,
                .consumer_tag = amqp_cstring_bytes(LINK_CONSUMER), .delivery_tag = tag,
                .exchange = amqp_empty_bytes, .routing_key = amqp_cstring_bytes("topic"));
}

/* `body` in frames of `piece` bytes. */
static void deliver(struct broker *broker, unsigned channel, uint64_t tag, const char *body,
                    size_t piece) {
    amqp_basic_properties_t properties = { ._flags = AMQP_BASIC_CONTENT_TYPE_FLAG,
                                           .content_type = amqp_cstring_bytes("application/json") };

    begin_delivery(broker, channel, tag);
    broker_content(broker, channel, &properties, body, strlen(body), piece);
}

static void expect_ack(struct broker *broker, unsigned channel, uint64_t tag) {
    const struct frame_in frame_in = broker_expect(broker, channel, AMQP_BASIC_ACK_METHOD);
    const amqp_basic_ack_t *ack = frame_in.decoded;

    ck_assert_uint_eq(ack->delivery_tag, tag);
    ck_assert_int_eq(ack->multiple, 0);
}

/* A message of its own is handled and acknowledged: all is as it should be. */
static void expect_works(struct scene *scene, uint64_t tag) {
    deliver(&scene->broker, TASKS, tag, envelope(scene, "{\"all\":\"well\"}"), 4096);
    await_begun();
    ck_assert_str_eq(consumer.last, "{\"all\":\"well\"}");
    expect_ack(&scene->broker, TASKS, tag);
}

/* ---- deliveries ---- */

START_TEST(a_message_is_whole_in_frames_and_pieces_of_any_size) {
    static const size_t pieces[] = { 1, 2, 3, 5, 7, 8, 11, 64, 0 };

    for (size_t i = 0; i < LENGTH(pieces); i++) {
        autoscene struct scene scene;
        struct broker *broker = &scene.broker;

        scene_begin(&scene, 0);
        broker->piece = pieces[i];
        serve(broker);
        for (size_t frame = 1; frame <= 64; frame *= 4) {
            deliver(broker, OWN, frame, envelope(&scene, "{\"key\":\"value\"}"), frame);
            await_begun();
            ck_assert_str_eq(consumer.last, "{\"key\":\"value\"}");
            expect_ack(broker, OWN, frame);
        }
    }
}
END_TEST

/* Messages of several queues whose frames come between each other's. */
START_TEST(messages_of_several_queues_may_be_mixed) {
    autoscene struct scene scene;
    struct broker *broker = &scene.broker;
    unsigned char header[256], part[256];
    unsigned char payload[64] = { 0, AMQP_BASIC_CLASS };
    const char *bodies[SOURCES_END];
    size_t done = 0, longest = 0;

    scene_begin(&scene, 0);
    serve(broker);
    for (unsigned channel = TASKS; channel < SOURCES_END; channel++) {
        amqp_basic_properties_t properties = { ._flags = AMQP_BASIC_CONTENT_TYPE_FLAG,
                                               .content_type =
                                                   amqp_cstring_bytes("application/json") };
        uint64_t size_be;
        int length;

        bodies[channel] = envelope(&scene, channel == OWN ? "{\"own\":true}" : "{}");
        size_be = htobe64(strlen(bodies[channel]));
        memcpy(payload + 4, &size_be, sizeof(size_be));
        length = amqp_encode_properties(AMQP_BASIC_CLASS, &properties,
                                        (amqp_bytes_t){ .len = 40, .bytes = payload + 12 });
        begin_delivery(broker, channel, channel);
        broker_send(broker, header,
                    broker_frame(header, AMQP_FRAME_HEADER, channel, payload, (size_t)length + 12));
        if (strlen(bodies[channel]) > longest)
            longest = strlen(bodies[channel]);
    }
    for (done = 0; done < longest; done += 10)
        for (unsigned channel = TASKS; channel < SOURCES_END; channel++) {
            size_t size = strlen(bodies[channel]);
            size_t some = size < done ? 0 : size - done < 10 ? size - done : 10;

            if (some > 0)
                broker_send(
                    broker, part,
                    broker_frame(part, AMQP_FRAME_BODY, channel, bodies[channel] + done, some));
        }
    for (unsigned i = 0; i < 3; i++) {
        const struct frame_in frame_in = broker_receive(broker);

        await_begun();
        ck_assert_uint_eq(frame_in.id, AMQP_BASIC_ACK_METHOD);
        ck_assert_uint_eq(((const amqp_basic_ack_t *)frame_in.decoded)->delivery_tag,
                          frame_in.channel);
    }
}
END_TEST

/* ---- the end of a connection ---- */

static void close_source(struct broker *broker) {
    broker_close_channel(broker, OWN, 404);
    broker_await_end(broker);
}

static void cancel_source(struct broker *broker) {
    BROKER_SEND(broker, FANOUT, AMQP_BASIC_CANCEL_METHOD, amqp_basic_cancel_t,
                .consumer_tag = amqp_cstring_bytes(LINK_CONSUMER), .nowait = 1);
    broker_await_end(broker);
}

static void hang_up_in_a_message(struct broker *broker) {
    amqp_basic_properties_t properties = { ._flags = 0 };
    unsigned char payload[64] = { 0, AMQP_BASIC_CLASS }, frame[128];
    int length = amqp_encode_properties(AMQP_BASIC_CLASS, &properties,
                                        (amqp_bytes_t){ .len = 40, .bytes = payload + 12 });

    payload[11] = 100; /* bytes, of which three come */
    begin_delivery(broker, OWN, 9);
    broker_send(broker, frame,
                broker_frame(frame, AMQP_FRAME_HEADER, OWN, payload, (size_t)length + 12));
    broker_send(broker, frame, broker_frame(frame, AMQP_FRAME_BODY, OWN, "abc", 3));
    broker_hang_up(broker);
}

static void send_more_than_announced(struct broker *broker) {
    amqp_basic_properties_t properties = { ._flags = 0 };
    unsigned char frame[64];

    begin_delivery(broker, OWN, 9);
    broker_content(broker, OWN, &properties, "", 0, 1);
    broker_send(broker, frame, broker_frame(frame, AMQP_FRAME_BODY, OWN, "abc", 3));
    broker_await_end(broker);
}

static void (*const ends[])(struct broker *broker) = {
    broker_close_connection, close_source,         cancel_source,
    broker_hang_up,          hang_up_in_a_message, send_more_than_announced,
    broker_send_nonsense,
};

/* A message is in the hands of a worker while its connection ends: it is not acknowledged on the
 * next one, where the number may be another's. It comes again there. */
START_TEST(a_message_in_work_is_redelivered_after_a_lost_connection) {
    for (size_t end = 0; end < LENGTH(ends); end++) {
        autoscene struct scene scene;
        struct broker *broker = &scene.broker;
        const char *body;

        scene_begin(&scene, 0);
        serve(broker);
        body = envelope(&scene, "{\"n\":1}");
        consumer.waits = true;
        deliver(broker, TASKS, 1, body, 4096);
        await_begun();
        ends[end](broker);
        serve(broker);
        consumer.waits = false;
        sem_post(&consumer.may_end);
        deliver(broker, OWN, 1, envelope(&scene, "{\"n\":2}"), 4096);
        await_begun();
        expect_ack(broker, OWN, 1); /* the first that is acknowledged here */
        deliver(broker, TASKS, 1, body, 4096);
        expect_ack(broker, TASKS, 1);
        expect_works(&scene, 2);
        ck_assert_int_ne(sem_trywait(&consumer.begun), 0); /* the same message, handled once */
    }
}
END_TEST

/* At each step of the beginning the broker goes: politely, or without a frame. */
START_TEST(a_failed_connection_is_retried) {
    autoscene struct scene scene;
    struct broker *broker = &scene.broker;

    scene_begin(&scene, 0);
    for (int polite = 0; polite <= 1; polite++)
        for (enum broker_step step = BROKER_CONNECTED; step <= BROKER_READY; step++) {
            broker_accept(broker, step);
            if (polite && step >= BROKER_STARTED) {
                broker_close_connection(broker);
            }
        }
    serve(broker);
    expect_works(&scene, 1);
}
END_TEST

/* ---- one queue among several ---- */

/* It is requested again on the same connection, and the others go on meanwhile. */
START_TEST(a_refused_queue_is_requested_again) {
    autoscene struct scene scene;
    struct broker *broker = &scene.broker;

    scene_begin(&scene, 0);
    broker_accept(broker, BROKER_READY);
    for (unsigned channel = FANOUT; channel >= TASKS; channel--)
        expect_source(broker, channel);
    open_source(broker, TASKS);
    open_source(broker, OWN);
    for (unsigned i = 0; i < 3; i++) {
        BROKER_SEND(broker, FANOUT, AMQP_CHANNEL_OPEN_OK_METHOD, amqp_channel_open_ok_t,
                    .channel_id = amqp_empty_bytes);
        broker_close_channel(broker, FANOUT, 406);
        broker_expect(broker, FANOUT, AMQP_CHANNEL_CLOSE_OK_METHOD);
        expect_source(broker, FANOUT);
        expect_works(&scene, i + 1);
    }
    open_source(broker, FANOUT);
    deliver(broker, FANOUT, 1, envelope(&scene, "{}"), 4096);
    await_begun();
    expect_ack(broker, FANOUT, 1);
}
END_TEST

/* Frames of channels that were never opened. */
START_TEST(frames_of_other_channels_change_nothing) {
    autoscene struct scene scene;
    struct broker *broker = &scene.broker;

    scene_begin(&scene, 0);
    serve(broker);
    deliver(broker, SOURCES_END, 7, envelope(&scene, "{}"), 4096);
    BROKER_SEND(broker, SOURCES_END, AMQP_BASIC_CANCEL_METHOD, amqp_basic_cancel_t,
                .consumer_tag = amqp_cstring_bytes("unknown"), .nowait = 1);
    expect_works(&scene, 1);
    deliver(broker, LINK_CHANNELS, 7, envelope(&scene, "{}"), 4096);
    broker_await_end(broker);
    serve(broker);
    expect_works(&scene, 1);
}
END_TEST

/* ---- an unresponsive broker ---- */

START_TEST(an_unresponsive_broker_is_disconnected) {
    autoscene struct scene scene;

    scene_begin(&scene, 1);
    serve(&scene.broker);
    expect_works(&scene, 1);
    broker_await_end(&scene.broker); /* by the client, which gets no heartbeat */
    serve(&scene.broker);
    expect_works(&scene, 1);
}
END_TEST

/* One that is refused for now is handled later, and acknowledged then. */
START_TEST(an_unhandled_message_is_not_acknowledged) {
    autoscene struct scene scene;
    struct broker *broker = &scene.broker;

    scene_begin(&scene, 0);
    serve(broker);
    consumer.outcome = -1;
    deliver(broker, OWN, 5, envelope(&scene, "{\"n\":1}"), 4096);
    await_begun();
    await_begun(); /* once more by itself */
    consumer.outcome = 0;
    expect_ack(broker, OWN, 5);
}
END_TEST

CHECK_MAIN("receiver", a_message_is_whole_in_frames_and_pieces_of_any_size,
           messages_of_several_queues_may_be_mixed,
           a_message_in_work_is_redelivered_after_a_lost_connection, a_failed_connection_is_retried,
           a_refused_queue_is_requested_again, frames_of_other_channels_change_nothing,
           an_unresponsive_broker_is_disconnected, an_unhandled_message_is_not_acknowledged)
