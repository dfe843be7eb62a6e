/*
 * A broker that the test plays itself, frame by frame, from its own thread: it receives exactly the
 * bytes that the code under test sent, and sends exactly those of the test, in pieces of any size.
 * A frame that does not come within a minute fails the test.
 */
#pragma once

#include "rpc/amqp/event.h"
#include "tests/lib/check_main.h"

#include <amqp.h>
#include <amqp_framing.h>
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BROKER_WAIT_MS = 60000, BROKER_SPACE = 1 << 18, BROKER_FRAME_END = 0xce };

struct broker {
    int listener, fd; /* fd -1: not connected */
    char url[64];
    size_t piece; /* writes have so many bytes; 0: whole */
    int heartbeat_s;
    amqp_pool_t pool;        /* of the bytes read */
    unsigned heartbeats;     /* that came */
    char body[BROKER_SPACE]; /* of the last message that came */
};

struct frame_in {
    amqp_method_number_t id;
    unsigned channel;
    void *decoded;
    char message_id[32]; /* of basic.publish; its body is in the broker */
    size_t size;
};

static inline void broker_begin(struct broker *broker) {
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t length = sizeof(address);

    *broker = (struct broker){ .fd = -1 };
    init_amqp_pool(&broker->pool, 4096);
    broker->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(broker->listener, (struct sockaddr *)&address, sizeof(address)), 0);
    ck_assert_int_eq(listen(broker->listener, 16), 0);
    getsockname(broker->listener, (struct sockaddr *)&address, &length);
    snprintf(broker->url, sizeof(broker->url), "rabbit://127.0.0.1:%d/", ntohs(address.sin_port));
}

static inline void broker_hang_up(struct broker *broker) {
    if (broker->fd >= 0)
        close(broker->fd);
    broker->fd = -1;
}

/* For good: each connection is refused. */
static inline void broker_leave(struct broker *broker) {
    if (broker->listener >= 0)
        close(broker->listener);
    broker->listener = -1;
    broker_hang_up(broker);
}

static inline void broker_end(struct broker *broker) {
    broker_leave(broker);
    empty_amqp_pool(&broker->pool);
}

/* ---- bytes ---- */

static inline void broker_wait(int fd) {
    struct pollfd file = { .fd = fd, .events = POLLIN };

    ck_assert_msg(poll(&file, 1, BROKER_WAIT_MS) == 1, "nothing came");
}

static inline void broker_bytes(struct broker *broker, void *ret, size_t size) {
    for (char *at = ret; size > 0;) {
        ssize_t got;

        broker_wait(broker->fd);
        got = recv(broker->fd, at, size, 0);
        ck_assert_msg(got > 0, "the connection was ended");
        at += got;
        size -= (size_t)got;
    }
}

/* A peer that did not like the beginning may be gone before the end: the listener finds out. */
static inline void broker_send(struct broker *broker, const void *bytes, size_t size) {
    size_t piece = broker->piece ? broker->piece : size;

    for (const char *at = bytes; size > 0;) {
        size_t some = size < piece ? size : piece;
        ssize_t sent = send(broker->fd, at, some, MSG_NOSIGNAL);

        if (sent < 0 && (errno == EPIPE || errno == ECONNRESET))
            return;
        ck_assert_int_eq(sent, (ssize_t)some);
        at += some;
        size -= some;
    }
}

/* The peer has ended the connection, whatever it sent before. */
static inline void broker_await_end(struct broker *broker) {
    ssize_t got;

    do {
        broker_wait(broker->fd);
        got = recv(broker->fd, broker->body, sizeof(broker->body), 0);
    } while (got > 0);
    broker_hang_up(broker);
}

/* ---- frames ---- */

/* A whole frame; how long it is. */
static inline size_t broker_frame(unsigned char *ret, unsigned type, unsigned channel,
                                  const void *payload, size_t size) {
    uint16_t channel_be = htobe16((uint16_t)channel);
    uint32_t size_be = htobe32((uint32_t)size);

    ret[0] = (unsigned char)type;
    memcpy(ret + 1, &channel_be, sizeof(channel_be));
    memcpy(ret + 3, &size_be, sizeof(size_be));
    memcpy(ret + 7, payload, size);
    ret[7 + size] = BROKER_FRAME_END;
    return size + 8;
}

static inline size_t broker_method(unsigned char *ret, unsigned channel, amqp_method_number_t id,
                                   void *decoded) {
    unsigned char payload[4096];
    uint32_t id_be = htobe32(id);
    int size;

    memcpy(payload, &id_be, sizeof(id_be));
    size = amqp_encode_method(id, decoded,
                              (amqp_bytes_t){ .len = sizeof(payload) - 4, .bytes = payload + 4 });
    ck_assert_int_ge(size, 0);
    return broker_frame(ret, AMQP_FRAME_METHOD, channel, payload, (size_t)size + 4);
}

static inline void broker_send_method(struct broker *broker, unsigned channel,
                                      amqp_method_number_t id, void *decoded) {
    unsigned char frame[4200];

    broker_send(broker, frame, broker_method(frame, channel, id, decoded));
}
#define BROKER_SEND(broker, channel, METHOD, type, ...) \
    broker_send_method(broker, channel, METHOD, &(type){ __VA_ARGS__ })

/* Header and body of a message; the body in frames of `piece` bytes. */
static inline void broker_content(struct broker *broker, unsigned channel,
                                  amqp_basic_properties_t *properties, const char *body,
                                  size_t size, size_t piece) {
    unsigned char payload[1024] = { 0, AMQP_BASIC_CLASS }, frame[8192];
    uint64_t size_be = htobe64(size);
    int length = amqp_encode_properties(
        AMQP_BASIC_CLASS, properties,
        (amqp_bytes_t){ .len = sizeof(payload) - 12, .bytes = payload + 12 });

    ck_assert_int_ge(length, 0);
    memcpy(payload + 4, &size_be, sizeof(size_be));
    broker_send(broker, frame,
                broker_frame(frame, AMQP_FRAME_HEADER, channel, payload, (size_t)length + 12));
    while (size > 0) {
        size_t some = size < piece ? size : piece;

        broker_send(broker, frame, broker_frame(frame, AMQP_FRAME_BODY, channel, body, some));
        body += some;
        size -= some;
    }
}

/* One frame into the broker's pool; heartbeats are counted and passed over. */
static inline unsigned broker_read_frame(struct broker *broker, unsigned *ret_channel,
                                         amqp_bytes_t *ret) {
    unsigned char head[7], end;
    uint16_t channel;
    uint32_t size;

    for (;;) {
        broker_bytes(broker, head, sizeof(head));
        memcpy(&channel, head + 1, sizeof(channel));
        memcpy(&size, head + 3, sizeof(size));
        *ret_channel = be16toh(channel);
        ret->len = be32toh(size);
        ck_assert_uint_lt(ret->len, BROKER_SPACE);
        ret->bytes = amqp_pool_alloc(&broker->pool, ret->len + 1);
        broker_bytes(broker, ret->bytes, ret->len);
        broker_bytes(broker, &end, 1);
        ck_assert_uint_eq(end, BROKER_FRAME_END);
        if (head[0] != AMQP_FRAME_HEARTBEAT)
            return head[0];
        broker->heartbeats++;
    }
}

static inline void broker_read_content(struct broker *broker, struct frame_in *frame_in) {
    const amqp_basic_properties_t *properties;
    amqp_bytes_t frame, encoded;
    unsigned channel;
    uint64_t size;
    void *decoded;

    ck_assert_uint_eq(broker_read_frame(broker, &channel, &frame), AMQP_FRAME_HEADER);
    memcpy(&size, (char *)frame.bytes + 4, sizeof(size));
    encoded = (amqp_bytes_t){ .len = frame.len - 12, .bytes = (char *)frame.bytes + 12 };
    ck_assert_int_eq(amqp_decode_properties(AMQP_BASIC_CLASS, &broker->pool, encoded, &decoded), 0);
    properties = decoded;
    snprintf(frame_in->message_id, sizeof(frame_in->message_id), "%.*s",
             (int)properties->message_id.len, (char *)properties->message_id.bytes);
    for (frame_in->size = 0; frame_in->size < be64toh(size); frame_in->size += frame.len) {
        ck_assert_uint_eq(broker_read_frame(broker, &channel, &frame), AMQP_FRAME_BODY);
        ck_assert_uint_lt(frame_in->size + frame.len, BROKER_SPACE);
        memcpy(broker->body + frame_in->size, frame.bytes, frame.len);
    }
    broker->body[frame_in->size] = '\0';
}

static inline struct frame_in broker_receive(struct broker *broker) {
    struct frame_in frame_in = { 0 };
    amqp_bytes_t frame;
    uint32_t id;

    ck_assert_uint_eq(broker_read_frame(broker, &frame_in.channel, &frame), AMQP_FRAME_METHOD);
    memcpy(&id, frame.bytes, sizeof(id));
    frame_in.id = be32toh(id);
    ck_assert_int_eq(
        amqp_decode_method(frame_in.id, &broker->pool,
                           (amqp_bytes_t){ .len = frame.len - 4, .bytes = (char *)frame.bytes + 4 },
                           &frame_in.decoded),
        0);
    if (frame_in.id == AMQP_BASIC_PUBLISH_METHOD)
        broker_read_content(broker, &frame_in);
    return frame_in;
}

static inline struct frame_in broker_expect(struct broker *broker, unsigned channel,
                                            amqp_method_number_t id) {
    struct frame_in frame_in = broker_receive(broker);

    ck_assert_msg(frame_in.id == id, "%s came instead of %s", amqp_method_name(frame_in.id),
                  amqp_method_name(id));
    ck_assert_uint_eq(frame_in.channel, channel);
    return frame_in;
}

/* ---- a connection ---- */

/* The frames of a client and a broker at the beginning, in this order. */
enum broker_step {
    BROKER_CONNECTED,
    BROKER_GREETED, /* the client has sent AMQP 0-9-1 */
    BROKER_STARTED,
    BROKER_TUNED,
    BROKER_OPENED,
    BROKER_WORKS,    /* the channel of work is open */
    BROKER_DECLARES, /* and that of declarations */
    BROKER_READY
};

static inline void broker_start(struct broker *broker) {
    BROKER_SEND(broker, 0, AMQP_CONNECTION_START_METHOD, amqp_connection_start_t,
                .version_major = 0, .version_minor = 9, .mechanisms = amqp_cstring_bytes("PLAIN"),
                .locales = amqp_cstring_bytes("en_US"));
    broker_expect(broker, 0, AMQP_CONNECTION_START_OK_METHOD);
}

static inline void broker_tune(struct broker *broker) {
    BROKER_SEND(broker, 0, AMQP_CONNECTION_TUNE_METHOD, amqp_connection_tune_t, .channel_max = 2047,
                .frame_max = 131072, .heartbeat = (uint16_t)broker->heartbeat_s);
    broker_expect(broker, 0, AMQP_CONNECTION_TUNE_OK_METHOD);
    broker_expect(broker, 0, AMQP_CONNECTION_OPEN_METHOD);
}

static inline void broker_open_channel(struct broker *broker, unsigned channel) {
    broker_expect(broker, channel, AMQP_CHANNEL_OPEN_METHOD);
    BROKER_SEND(broker, channel, AMQP_CHANNEL_OPEN_OK_METHOD, amqp_channel_open_ok_t,
                .channel_id = amqp_empty_bytes);
}

/* Takes the next connection as far as `step`. */
static inline void broker_accept(struct broker *broker, enum broker_step step) {
    static const int one = 1;
    char greeting[8];

    broker_hang_up(broker);
    broker_wait(broker->listener);
    broker->fd = accept4(broker->listener, NULL, NULL, SOCK_CLOEXEC);
    ck_assert_int_ge(broker->fd, 0);
    setsockopt(broker->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (step >= BROKER_GREETED) {
        broker_bytes(broker, greeting, sizeof(greeting));
        ck_assert_mem_eq(greeting, "AMQP\0\0\x09\x01", sizeof(greeting));
    }
    if (step >= BROKER_STARTED)
        broker_start(broker);
    if (step >= BROKER_TUNED)
        broker_tune(broker);
    if (step >= BROKER_OPENED)
        BROKER_SEND(broker, 0, AMQP_CONNECTION_OPEN_OK_METHOD, amqp_connection_open_ok_t,
                    .known_hosts = amqp_empty_bytes);
    if (step >= BROKER_WORKS)
        broker_open_channel(broker, LINK_WORK);
    if (step >= BROKER_DECLARES)
        broker_open_channel(broker, LINK_DECLARE);
}

/* And the peer ends it. */
static inline void broker_close_connection(struct broker *broker) {
    BROKER_SEND(broker, 0, AMQP_CONNECTION_CLOSE_METHOD, amqp_connection_close_t, .reply_code = 320,
                .reply_text = amqp_cstring_bytes("CONNECTION_FORCED"));
    broker_await_end(broker);
}

static inline void broker_close_channel(struct broker *broker, unsigned channel, int code) {
    BROKER_SEND(broker, channel, AMQP_CHANNEL_CLOSE_METHOD, amqp_channel_close_t,
                .reply_code = (uint16_t)code, .reply_text = amqp_cstring_bytes("no such thing"));
}

static inline void broker_ack(struct broker *broker, uint64_t tag, bool multiple) {
    BROKER_SEND(broker, LINK_WORK, AMQP_BASIC_ACK_METHOD, amqp_basic_ack_t, .delivery_tag = tag,
                .multiple = multiple);
}

static inline void broker_nack(struct broker *broker, uint64_t tag, bool multiple) {
    BROKER_SEND(broker, LINK_WORK, AMQP_BASIC_NACK_METHOD, amqp_basic_nack_t, .delivery_tag = tag,
                .multiple = multiple);
}

/* Not a frame. */
static inline void broker_send_nonsense(struct broker *broker) {
    static const char text[] = "HTTP/1.1 400 Bad Request\r\n\r\n";

    broker_send(broker, text, sizeof(text) - 1);
    broker_await_end(broker);
}
