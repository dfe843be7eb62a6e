/*
 * Clients that want more than their share, or mean no good.
 */
#include "tests/unit/grpc/service.h"

#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define SHORT_MS 100 /* of a server with a short timeout */

static const uint8_t wide[] = { 0x3f, 0, 0, 0 }; /* of WINDOW_UPDATE */

/* LIST of so many bytes. */
static size_t write_list(uint8_t message[8], uint32_t bytes) {
    size_t size = 0;

    message[size++] = 8;
    for (; bytes >= 0x80; bytes >>= 7)
        message[size++] = (uint8_t)(bytes | 0x80);
    message[size++] = (uint8_t)bytes;
    return size;
}

static void begin_list(struct scene *scene, int32_t stream, uint32_t bytes) {
    uint8_t message[8];
    size_t size = write_list(message, bytes);

    wire_call(scene->wire, stream, LIST, message, size);
}

static bool ends(int fd) {
    struct pollfd wait = { .fd = fd, .events = POLLRDHUP };

    return poll(&wait, 1, WIRE_TIMEOUT_S * 1000) == 1 &&
           wait.revents & (POLLHUP | POLLRDHUP | POLLERR);
}

/* Disconnected, politely or not, and no other client is any worse for it. */
static void assert_shown_out(struct scene *scene) {
    autofree struct wire_answer *answer = wire_await(scene->wire, 0);

    ck_assert_msg(answer->gone || answer->away == NGHTTP2_ENHANCE_YOUR_CALM + 1, "%u",
                  answer->away);
    ck_assert(ends(scene->wire->fd));
    assert_alive(scene);
}

/* ---- floods ---- */

START_TEST(concurrent_calls_above_the_limit_are_refused) {
    struct scene *scene = SCENE(.workers = 4, .streams = 2);
    autofree struct wire_answer *third = NULL;

    for (int32_t stream = 1; stream <= 5; stream += 2)
        wire_call(scene->wire, stream, GET, "", 0);
    third = wire_await(scene->wire, 5);
    ck_assert_uint_eq(third->reset, NGHTTP2_REFUSED_STREAM + 1);
    ck_assert_uint_le(scene_count(scene, &scene->entered), 2);
    assert_alive(scene);
    scene_end(scene);
}
END_TEST

START_TEST(a_client_that_resets_its_calls_at_once_is_disconnected) {
    const uint8_t code[] = { 0, 0, 0, NGHTTP2_CANCEL };
    struct scene *scene = SCENE(.workers = 2, .answer_ms = SHORT_MS);
    bool taken = true;

    for (int32_t stream = 1; taken && stream < 20000; stream += 2)
        taken = wire_call(scene->wire, stream, PROBE, "", 0) &&
                wire_send(scene->wire, NGHTTP2_RST_STREAM, 0, stream, code, sizeof(code));
    assert_shown_out(scene);
    scene_end(scene);
}
END_TEST

/* The server has to reset these itself, which costs as much. */
START_TEST(a_client_that_makes_the_server_reset_calls_is_disconnected) {
    static const char *const malformed[] = { ":method", "POST", ":path", PROBE, NULL };
    struct scene *scene = SCENE(.workers = 2, .answer_ms = SHORT_MS);
    bool taken = true;

    for (int32_t stream = 1; taken && stream < 20000; stream += 2)
        taken = wire_headers(scene->wire, 0, stream, malformed);
    assert_shown_out(scene);
    scene_end(scene);
}
END_TEST

/* clang-format off */
static const struct flood {
    const char *name;
    uint8_t type;
    int32_t stream;
    const char *bytes;
    size_t size;
} floods[] = {
    { "PING", NGHTTP2_PING, 0, "12345678", 8 },
    { "SETTINGS", NGHTTP2_SETTINGS, 0, "", 0 },
    { "SETTINGS of a window", NGHTTP2_SETTINGS, 0, "\0\4\0\0\xff\xff", 6 },
    { "PRIORITY", NGHTTP2_PRIORITY, 1, "\0\0\0\0\0", 5 },
    { "WINDOW_UPDATE", NGHTTP2_WINDOW_UPDATE, 0, "\0\0\0\1", 4 },
    { "DATA", NGHTTP2_DATA, 1, "", 0 },
};
/* clang-format on */

START_TEST(a_client_that_sends_frames_without_effect_is_disconnected) {
    for (size_t i = 0; i < LENGTH(floods); i++) {
        const struct flood *flood = &floods[i];
        struct scene *scene = SCENE(.workers = 2, .answer_ms = SHORT_MS);
        bool taken = wire_begin(scene->wire, 1, PROBE, NULL);

        for (unsigned k = 0; taken && k < 20000; k++)
            taken =
                wire_send(scene->wire, flood->type, 0, flood->stream, flood->bytes, flood->size);
        ck_assert_msg(!taken || ends(scene->wire->fd), "%s", flood->name);
        assert_shown_out(scene);
        scene_end(scene);
    }
}
END_TEST

/* HTTP/2 has them skipped, which costs next to nothing. */
START_TEST(frames_of_unknown_kinds_are_skipped) {
    struct scene *scene = SCENE(.workers = 2);
    autofree struct wire_answer *answer = NULL;

    for (unsigned k = 0; k < 20000; k++)
        ck_assert(wire_send(scene->wire, 0x42, 0, 0, "", 0));
    answer = scene_request(scene, 1, PROBE, "", 0);
    assert_status(answer, "0", "");
    scene_end(scene);
}
END_TEST

START_TEST(endless_headers_are_cut) {
    struct scene *scene = SCENE(.workers = 2, .answer_ms = SHORT_MS);
    const uint8_t entry[] = { 0x10, 1, 'a', 1, 'b' };
    bool taken = wire_send(scene->wire, NGHTTP2_HEADERS, 0, 1, entry, sizeof(entry));

    for (unsigned k = 0; taken && k < 100000; k++)
        taken = wire_send(scene->wire, NGHTTP2_CONTINUATION, 0, 1, entry, sizeof(entry));
    ck_assert(ends(scene->wire->fd));
    assert_alive(scene);
    scene_end(scene);
}
END_TEST

enum { TABLE_VALUE = 4000, REFERENCES = 12000, NEWEST_ENTRY = 0x80 + 62 };

/* A header "a" of so many bytes, which the server's table keeps; its length is a varint. */
static bool send_literal(struct scene *scene, int32_t stream, char byte) {
    uint8_t block[TABLE_VALUE + 6] = {
        0x40, 1, 'a', 127, (TABLE_VALUE - 127) % 128 + 128, (TABLE_VALUE - 127) / 128
    };

    memset(block + 6, byte, TABLE_VALUE);
    return wire_send(scene->wire, NGHTTP2_HEADERS,
                     NGHTTP2_FLAG_END_STREAM | NGHTTP2_FLAG_END_HEADERS, stream, block,
                     sizeof(block));
}

/* That header again and again, in a byte each. */
static void send_references(struct scene *scene, int32_t stream) {
    uint8_t block[REFERENCES];

    memset(block, NEWEST_ENTRY, sizeof(block));
    wire_send(scene->wire, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_STREAM | NGHTTP2_FLAG_END_HEADERS,
              stream, block, sizeof(block));
}

START_TEST(headers_that_grow_when_they_are_decoded_end_the_connection) {
    static const struct {
        bool trailers;
        char byte; /* one of them makes the header invalid, and nghttp2 leaves it out */
    } blocks[] = { { false, 'v' }, { true, 'v' }, { false, '\x01' }, { true, '\x01' } };

    for (size_t i = 0; i < LENGTH(blocks); i++) {
        struct scene *scene = SCENE(.workers = 2, .answer_ms = SHORT_MS);

        for (int32_t stream = 1; blocks[i].trailers && stream <= 3; stream += 2)
            ck_assert(wire_begin(scene->wire, stream, PROBE, NULL));
        ck_assert(send_literal(scene, 1, blocks[i].byte));
        ck_assert(wire_ping(scene->wire));
        send_references(scene, 3);
        assert_shown_out(scene);
        scene_end(scene);
    }
}
END_TEST

/* Each alone is refused with a sentence: see test_server.c. */
START_TEST(repeated_oversized_headers_end_the_connection) {
    struct scene *scene = SCENE(.workers = 2, .answer_ms = SHORT_MS);
    char value[4096];
    const char *more[] = { "a", value, "b", value, "c", value, "d", value, NULL };
    bool taken = true;

    memset(value, 'v', sizeof(value));
    value[sizeof(value) - 1] = '\0';
    for (int32_t stream = 1; taken && stream < 200; stream += 2)
        taken = wire_begin(scene->wire, stream, PROBE, more) &&
                wire_message(scene->wire, stream, "", 0);
    assert_shown_out(scene);
    scene_end(scene);
}
END_TEST

/* ---- unresponsive and slow clients ---- */

START_TEST(a_client_without_http_2_is_disconnected) {
    static const char *const words[] = { "", "PRI * HTTP/2.0\r\n", "GET / HTTP/1.1\r\n\r\n",
                                         "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" };
    struct scene *scene = SCENE(.workers = 1, .request_ms = SHORT_MS);

    for (size_t i = 0; i < LENGTH(words); i++) {
        autoclose int fd = wire_connect(scene->path);

        ck_assert(wire_bytes(fd, words[i], strlen(words[i])));
        ck_assert(ends(fd));
    }
    scene_end(scene);
}
END_TEST

/* The test itself may have been too slow to send its first byte in time. */
static void open_in_time(struct scene *scene) {
    while (!wire_ping(scene->wire)) {
        wire_close(scene->wire);
        scene->wire = wire_open(scene->path);
    }
}

START_TEST(an_idle_client_may_stay) {
    struct scene *scene = SCENE(.workers = 1, .request_ms = SHORT_MS);
    autoclose int silent = -1;

    open_in_time(scene);
    silent = wire_connect(scene->path);
    ck_assert(ends(silent)); /* so long it has been */
    ck_assert(wire_ping(scene->wire));
    scene_end(scene);
}
END_TEST

START_TEST(an_incomplete_request_times_out) {
    struct scene *scene = SCENE(.workers = 1, .request_ms = SHORT_MS);
    autofree struct wire_answer *answer = NULL;

    open_in_time(scene);
    wire_begin(scene->wire, 1, PROBE, NULL);
    wire_send(scene->wire, NGHTTP2_DATA, 0, 1, "\0\0", 2);
    answer = wire_await(scene->wire, 1);
    assert_status(answer, "4", "did not come");
    ck_assert(wire_ping(scene->wire));
    scene_end(scene);
}
END_TEST

START_TEST(a_response_without_a_window_times_out) {
    struct scene *scene = SCENE(.workers = 1, .answer_ms = SHORT_MS);
    autofree struct wire_answer *answer = NULL;

    begin_list(scene, 1, 100000);
    answer = wire_await(scene->wire, 1);
    ck_assert_uint_eq(answer->reset, NGHTTP2_CANCEL + 1);
    ck_assert_uint_eq(answer->size, 65535);
    scene_end(scene);
}
END_TEST

START_TEST(a_client_that_does_not_read_is_disconnected) {
    struct scene *scene = SCENE(.workers = 1, .answer_ms = SHORT_MS);

    wire_begin(scene->wire, 1, PROBE, NULL);
    wire_send(scene->wire, NGHTTP2_WINDOW_UPDATE, 0, 0, wide, sizeof(wide));
    wire_send(scene->wire, NGHTTP2_SETTINGS, 0, 0, "\0\4\x3f\0\0\0", 6);
    begin_list(scene, 3, 10000000);
    ck_assert(ends(scene->wire->fd));
    assert_alive(scene);
    scene_end(scene);
}
END_TEST

/* A byte of it now and then. */
START_TEST(a_response_that_is_read_too_slowly_times_out) {
    const struct timespec pause = { .tv_nsec = SHORT_MS * 1000000 / 5 };
    struct scene *scene = SCENE(.workers = 1, .answer_ms = 10 * SHORT_MS);
    struct wire_frame frame = { .type = NGHTTP2_DATA };

    begin_list(scene, 1, 100000);
    for (unsigned i = 0; frame.type != NGHTTP2_RST_STREAM; i++) {
        ck_assert_uint_lt(i, 10 * 50); /* ten times as long as it may take */
        wire_send(scene->wire, NGHTTP2_WINDOW_UPDATE, 0, 1, "\0\0\0\1", 4);
        wire_send(scene->wire, NGHTTP2_WINDOW_UPDATE, 0, 0, "\0\0\0\1", 4);
        ck_assert(wire_read(scene->wire, &frame));
        ck_assert_uint_ne(frame.type, NGHTTP2_GOAWAY);
        nanosleep(&pause, NULL);
    }
    ck_assert(wire_ping(scene->wire));
    scene_end(scene);
}
END_TEST

/* The number of sent bytes that the server has not read. */
static int unread(const struct wire *wire) {
    int size = 0;

    ck_assert_int_eq(ioctl(wire->fd, SIOCOUTQ, &size), 0);
    return size;
}

/* Each of these calls has to be reset, and the resets would gather behind the answer. */
START_TEST(a_client_that_reads_no_responses_is_not_read_from) {
    static const char *const malformed[] = { ":method", "POST", ":path", PROBE, NULL };
    struct scene *scene = SCENE(.workers = 1, .answer_ms = WIRE_TIMEOUT_S * 2000);
    int size;

    wire_begin(scene->wire, 1, PROBE, NULL);
    wire_send(scene->wire, NGHTTP2_WINDOW_UPDATE, 0, 0, wide, sizeof(wide));
    wire_send(scene->wire, NGHTTP2_SETTINGS, 0, 0, "\0\4\x3f\0\0\0", 6);
    begin_list(scene, 3, 10000000);
    scene_await(scene, &scene->forgotten, 1);
    assert_alive(scene); /* so it has written all that it could */
    for (int32_t stream = 5; stream < 25; stream += 2)
        ck_assert(wire_headers(scene->wire, 0, stream, malformed));
    size = unread(scene->wire);
    ck_assert_int_gt(size, 0);
    assert_alive(scene);
    ck_assert_int_eq(unread(scene->wire), size);
    scene_end(scene);
}
END_TEST

/* ---- memory ---- */

START_TEST(only_the_response_is_kept_for_a_slow_client) {
    struct scene *scene = SCENE(.workers = 1, .answer_ms = WIRE_TIMEOUT_S * 2000);
    struct wire_frame frame = { .type = NGHTTP2_SETTINGS };

    begin_list(scene, 1, 100000);
    while (frame.type != NGHTTP2_DATA)
        ck_assert(wire_read(scene->wire, &frame));
    scene_await(scene, &scene->forgotten, 1);
    scene_end(scene);
}
END_TEST

START_TEST(incoming_requests_share_a_memory_limit) {
    struct scene *scene = SCENE(.workers = 1, .waiting_bytes = 6000);
    char part[5 + 3000] = { 0, 0, 0, 16, 0 };
    autofree struct wire_answer *second = NULL, *first = NULL, *next = NULL;

    wire_begin(scene->wire, 1, PROBE, NULL);
    wire_send(scene->wire, NGHTTP2_DATA, 0, 1, part, sizeof(part));
    wire_begin(scene->wire, 3, PROBE, NULL);
    wire_send(scene->wire, NGHTTP2_DATA, 0, 3, part, sizeof(part));
    second = wire_await(scene->wire, 3);
    assert_status(second, "14", "too many requests");
    wire_send(scene->wire, NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 1, "", 0);
    first = wire_await(scene->wire, 1);
    assert_status(first, "13", "not whole");
    memset(part, 0, sizeof(part));
    next = scene_request(scene, 5, PROBE, part + 5, 0);
    assert_status(next, "0", "");
    scene_end(scene);
}
END_TEST

START_TEST(unread_responses_share_a_memory_limit) {
    const uint8_t code[] = { 0, 0, 0, NGHTTP2_CANCEL };
    struct scene *scene = SCENE(.workers = 1, .waiting_bytes = 150000);
    autofree struct wire_answer *second = NULL, *third = NULL;

    begin_list(scene, 1, 100000);
    begin_list(scene, 3, 100000);
    second = wire_await(scene->wire, 3);
    assert_status(second, "14", "too many answers");
    wire_send(scene->wire, NGHTTP2_RST_STREAM, 0, 1, code, sizeof(code));
    wire_send(scene->wire, NGHTTP2_WINDOW_UPDATE, 0, 0, wide, sizeof(wide));
    wire_send(scene->wire, NGHTTP2_SETTINGS, 0, 0, "\0\4\x3f\0\0\0", 6);
    begin_list(scene, 5, 100000);
    third = wire_await(scene->wire, 5);
    assert_status(third, "0", "");
    scene_end(scene);
}
END_TEST

START_TEST(an_idle_client_is_disconnected_for_a_new_one) {
    struct scene *scene = SCENE(.workers = 1, .connections = 2);
    autofree struct wire_answer *answer = scene_request(scene, 1, PROBE, "", 0), *again = NULL;
    autoclose int silent = wire_connect(scene->path);

    assert_status(answer, "0", "");
    assert_alive(scene);
    ck_assert(ends(silent));
    again = scene_request(scene, 3, PROBE, "", 0);
    assert_status(again, "0", "");
    scene_end(scene);
}
END_TEST

START_TEST(active_clients_keep_their_connections) {
    struct scene *scene = SCENE(.workers = 1, .connections = 1);
    autofree struct wire_answer *answer = scene_request(scene, 1, PROBE, "", 0), *again = NULL;
    autoclose int other = wire_connect(scene->path);

    assert_status(answer, "0", "");
    ck_assert(ends(other));
    again = scene_request(scene, 3, PROBE, "", 0);
    assert_status(again, "0", "");
    scene_end(scene);
}
END_TEST

CHECK_MAIN("grpc limits", concurrent_calls_above_the_limit_are_refused,
           a_client_that_resets_its_calls_at_once_is_disconnected,
           a_client_that_makes_the_server_reset_calls_is_disconnected,
           a_client_that_sends_frames_without_effect_is_disconnected,
           frames_of_unknown_kinds_are_skipped, endless_headers_are_cut,
           headers_that_grow_when_they_are_decoded_end_the_connection,
           repeated_oversized_headers_end_the_connection, a_client_without_http_2_is_disconnected,
           an_idle_client_may_stay, an_incomplete_request_times_out,
           a_response_without_a_window_times_out, a_client_that_does_not_read_is_disconnected,
           a_response_that_is_read_too_slowly_times_out,
           a_client_that_reads_no_responses_is_not_read_from,
           only_the_response_is_kept_for_a_slow_client, incoming_requests_share_a_memory_limit,
           unread_responses_share_a_memory_limit, an_idle_client_is_disconnected_for_a_new_one,
           active_clients_keep_their_connections)
