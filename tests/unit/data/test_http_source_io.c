/*
 * Bytes from an HTTP server, which may send anything and stop anywhere.
 */
#include "data/http_source_io.h"

#include "data/checksum_io.h"
#include "data/copy.h"
#include "tests/unit/data/http_peer.h"

#define SIZE     ((int64_t)3146428) /* three MiB and a part of a block */
#define BROKEN   ((int64_t)1048593) /* one MiB and a few bytes */
#define LATER    (2 * MIB)
#define LONG_MS  ((int64_t)600000)
#define SHORT_MS ((int64_t)200)

#define OK_HEAD   "HTTP/1.1 200 OK\r\n"
#define PART_HEAD "HTTP/1.1 206 Partial Content\r\n"
#define STATED    OK_HEAD "Content-Length: 3146428\r\n"
#define CHUNKED   OK_HEAD "Transfer-Encoding: chunked\r\n"

/* Data at the start, across blocks and at the end, zeros between; and more than the body has. */
static unsigned char bytes[SIZE + 1000];

static void begin(void) {
    autovolumeio struct volume_io *io = memory_volume(sizeof(bytes));
    struct error err = { 0 };

    fill(io, 0, 70 * KIB, 1);
    fill(io, MIB - 8 * KIB, 200 * KIB, 2);
    fill(io, SIZE - 1000, 2000, 4);
    for (int64_t at = 0; at < (int64_t)sizeof(bytes); at += MIB) {
        int64_t left = (int64_t)sizeof(bytes) - at;

        ck_assert_int_eq(
            volume_io_read(io, bytes + at, (size_t)(left < MIB ? left : MIB), at, &err), 0);
    }
}

/* ---- bodies ---- */

#define SENT(head_, begin_, end_) \
    { .head = (head_), .begin = (begin_), .end = (end_) }
#define IN_CHUNKS(head_, begin_, end_) \
    { .head = (head_), .begin = (begin_), .end = (end_), .chunked = true }
#define REST PART_HEAD "Content-Range: bytes 1048593-3146427/3146428\r\nContent-Length: 2097835\r\n"
#define REST_IN_CHUNKS \
    PART_HEAD "content-range: bytes 1048593-3146427/*\r\nTransfer-Encoding: chunked\r\n"
#define END         PART_HEAD "Content-Range: bytes 2097152-3146427/3146428\r\nContent-Length: 1049276\r\n"
#define AFTER_BREAK "Range: bytes=1048593-\r\n"
#define FROM_LATER  "Range: bytes=2097152-\r\n"

/* clang-format off */
static const struct body {
    const char *name;
    int64_t size, most, start;
    struct http_response responses[2];
    unsigned connections;
    const char *range; /* of the last request; NULL: none */
} bodies[] = {
    { "of a stated length", SIZE, 0, 0, { SENT(STATED, 0, SIZE) }, 1, NULL },
    { "in chunks", SIZE, 0, 0, { IN_CHUNKS(CHUNKED, 0, SIZE) }, 1, NULL },
    { "of the length that it states", -1, 2 * SIZE, 0, { SENT(STATED, 0, SIZE) }, 1, NULL },
    { "of unknown length", -1, 2 * SIZE, 0, { IN_CHUNKS(CHUNKED, 0, SIZE) }, 1, NULL },
    { "until the connection ends", -1, 2 * SIZE, 0, { SENT(OK_HEAD, 0, SIZE) }, 1, NULL },
    { "as long as it may be", -1, SIZE, 0, { IN_CHUNKS(CHUNKED, 0, SIZE) }, 1, NULL },
    { "continued by range", SIZE, 0, 0,
      { SENT(STATED, 0, BROKEN), SENT(REST, BROKEN, SIZE) }, 2, AFTER_BREAK },
    { "continued in chunks", SIZE, 0, 0,
      { { CHUNKED, 0, BROKEN, .chunked = true, .endless = true },
        IN_CHUNKS(REST_IN_CHUNKS, BROKEN, SIZE) }, 2, AFTER_BREAK },
    { "repeated by a server without ranges", SIZE, 0, 0,
      { SENT(STATED, 0, BROKEN), SENT(STATED, 0, SIZE) }, 2, AFTER_BREAK },
    { "from a later byte on", SIZE, 0, LATER, { SENT(END, LATER, SIZE) }, 1, FROM_LATER },
    { "from a later byte on, without ranges", SIZE, 0, LATER,
      { SENT(STATED, 0, SIZE) }, 1, FROM_LATER },
};
/* clang-format on */

static void start_peer(struct http_peer_server *peer, const struct http_response responses[2]) {
    *peer = (struct http_peer_server){ .responses = responses,
                                       .count = responses[1].head ? 2 : 1,
                                       .bytes = bytes };
    http_peer_start(peer);
}

static struct http_source_settings settings_of(const struct http_peer_server *peer, int64_t size,
                                               int64_t most, int64_t start, int64_t timeout_ms) {
    return (struct http_source_settings){ .request = { .url = peer->url, .timeout_ms = timeout_ms },
                                          .size = size,
                                          .most = most,
                                          .start = start };
}

static void assert_bytes(struct volume_io *io, int64_t from) {
    static unsigned char found[SIZE];
    struct error err = { 0 };

    for (int64_t at = from; at < SIZE; at += MIB) {
        int64_t left = SIZE - at;

        ck_assert_int_eq(
            volume_io_read(io, found + at, (size_t)(left < MIB ? left : MIB), at, &err), 0);
    }
    for (int64_t i = from; i < SIZE; i++)
        ck_assert_msg(found[i] == bytes[i], "the bytes from %jd on differ", (intmax_t)i);
    if (io->size > SIZE)
        assert_zeros(io, SIZE, io->size - SIZE);
}

static void copy_body(const struct body *body) {
    struct http_peer_server peer;
    struct http_source_settings settings;
    struct copy_position position = { .at = body->start };
    autovolumeio struct volume_io *to = memory_volume(2 * SIZE);
    struct error err = { 0 };
    struct copy copy = { .to = to, .blank = true, .verify = body->start == 0 };

    start_peer(&peer, body->responses);
    settings = settings_of(&peer, body->size, body->most, body->start, LONG_MS);
    copy.from = http_source_io_open(&settings, &err);
    ck_assert_msg(copy.from != NULL, "%s: %s", body->name, err.message);
    ck_assert_msg(copy_run(&copy, &position, &err) == 0, "%s: %s", body->name, err.message);
    volume_io_close(copy.from);
    http_peer_stop(&peer);
    assert_bytes(to, body->start);
    ck_assert_int_lt(data_bytes(to), MIB); /* zeros are holes */
    ck_assert_msg(peer.connections == body->connections, "%s", body->name);
    if (body->range)
        ck_assert_ptr_nonnull(strstr(peer.requests[peer.connections - 1], body->range));
    else
        ck_assert_ptr_null(strstr(peer.requests[0], "Range:"));
}

START_TEST(a_body_is_copied_whole_and_its_zeros_become_holes) {
    for (size_t i = 0; i < LENGTH(bodies); i++)
        copy_body(&bodies[i]);
}
END_TEST

/* ---- checksums ---- */

static void sum_of(int64_t size, const char *algorithm, char ret[CHECKSUM_IO_TEXT]) {
    struct volume_io *io = memory_volume(size);
    autovolumeio struct volume_io *checksum = NULL;
    struct error err = { 0 };
    static unsigned char found[VOLUME_IO_MOST];

    for (int64_t at = 0; at < size; at += MIB) {
        size_t part = (size_t)(size - at < MIB ? size - at : MIB);

        ck_assert_int_eq(volume_io_write(io, bytes + at, part, at, &err), 0);
    }
    checksum = checksum_io_open(io, algorithm, false, &err);
    for (int64_t at = 0; at < size; at += MIB)
        ck_assert_int_eq(
            volume_io_read(checksum, found, (size_t)(size - at < MIB ? size - at : MIB), at, &err),
            0);
    ck_assert_int_eq(checksum_io_get(checksum, ret, &err), 0);
}

/* Also where its length is unknown, and where it comes in two parts. */
START_TEST(a_copied_body_has_the_checksum_of_its_bytes_alone) {
    static const char *const algorithms[] = { "md5", "sha512" };

    for (size_t i = 0; i < LENGTH(bodies) * 2; i++) {
        const struct body *body = &bodies[i / 2];
        struct http_peer_server peer;
        struct http_source_settings settings;
        const struct copy_position beginning = { 0 };
        autovolumeio struct volume_io *to = memory_volume(2 * SIZE);
        char expected[CHECKSUM_IO_TEXT], found[CHECKSUM_IO_TEXT];
        struct copy copy = { .to = to, .blank = true };
        struct error err = { 0 };

        if (body->start > 0)
            continue;
        start_peer(&peer, body->responses);
        settings = settings_of(&peer, body->size, body->most, 0, LONG_MS);
        copy.from = checksum_io_open(http_source_io_open(&settings, &err), algorithms[i % 2],
                                     body->size < 0, &err);
        ck_assert_msg(copy_run(&copy, &beginning, &err) == 0, "%s: %s", body->name, err.message);
        ck_assert_msg(checksum_io_get(copy.from, found, &err) == 0, "%s: %s", body->name,
                      err.message);
        sum_of(SIZE, algorithms[i % 2], expected);
        ck_assert_str_eq(found, expected);
        volume_io_close(copy.from);
        http_peer_stop(&peer);
    }
}
END_TEST

/* ---- failures ---- */

#define OTHER_RANGE \
    PART_HEAD "Content-Range: bytes 5-3146427/3146428\r\nContent-Length: 3146423\r\n"
#define PART_OF_RANGE \
    PART_HEAD "Content-Range: bytes 2097152-3000000/3146428\r\nContent-Length: 902849\r\n"
#define RESPONSES(...) .responses = { __VA_ARGS__ }
#define STATUS(line)   .name = (line), .size = SIZE, RESPONSES({ .head = "HTTP/1.1 " line "\r\n" })

/* clang-format off */
static const struct failure {
    const char *name;
    int64_t size, most, start;
    struct http_response responses[2];
    enum error_kind kind;
    bool opens; /* and the copy fails */
} failures[] = {
    { STATUS("302 Found"), .kind = ERROR_BACKEND },
    { STATUS("204 No Content"), .kind = ERROR_NOT_FOUND },
    { STATUS("401 No"), .kind = ERROR_UNAUTHORIZED },
    { STATUS("403 No"), .kind = ERROR_FORBIDDEN },
    { STATUS("404 No"), .kind = ERROR_NOT_FOUND },
    { STATUS("409 No"), .kind = ERROR_BACKEND },
    { STATUS("429 No"), .kind = ERROR_UNAVAILABLE },
    { STATUS("503 No"), .kind = ERROR_UNAVAILABLE },
    { .name = "no response", .size = SIZE, .kind = ERROR_UNAVAILABLE },
    { .name = "no HTTP", .size = SIZE, .kind = ERROR_UNAVAILABLE,
      RESPONSES({ .head = "220 ready\r\n" }) },
    { .name = "no response in time", .size = SIZE, .kind = ERROR_UNAVAILABLE,
      RESPONSES({ .hangs = true }) },
    { .name = "shorter than known", .size = SIZE + 1, .kind = ERROR_BACKEND,
      RESPONSES(SENT(STATED, 0, SIZE)) },
    { .name = "longer than known", .size = SIZE - 1, .kind = ERROR_BACKEND,
      RESPONSES(SENT(STATED, 0, SIZE)) },
    { .name = "longer than it may be", .size = -1, .most = SIZE - 1, .kind = ERROR_BACKEND,
      RESPONSES(SENT(STATED, 0, SIZE)) },
    { .name = "another range", .size = SIZE, .start = LATER, .kind = ERROR_BACKEND,
      RESPONSES(SENT(OTHER_RANGE, 5, SIZE)) },
    { .name = "a part of a range", .size = SIZE, .start = LATER, .kind = ERROR_BACKEND,
      RESPONSES(SENT(PART_OF_RANGE, LATER, 3000001)) },
    { .name = "chunks end early", .size = SIZE + 1, .kind = ERROR_BACKEND, .opens = true,
      RESPONSES(IN_CHUNKS(CHUNKED, 0, SIZE)) },
    { .name = "chunks end late", .size = SIZE - 1, .kind = ERROR_BACKEND, .opens = true,
      RESPONSES(IN_CHUNKS(CHUNKED, 0, SIZE)) },
    { .name = "more chunks than may be", .size = -1, .most = SIZE - 1, .kind = ERROR_BACKEND,
      .opens = true, RESPONSES(IN_CHUNKS(CHUNKED, 0, SIZE)) },
    { .name = "no last chunk", .size = SIZE, .kind = ERROR_UNAVAILABLE, .opens = true,
      RESPONSES({ CHUNKED, 0, SIZE, .chunked = true, .endless = true }) },
    { .name = "nothing more in time", .size = SIZE, .kind = ERROR_UNAVAILABLE,
      RESPONSES({ STATED, 0, BROKEN, .hangs = true }) },
    { .name = "ends at once, again and again", .size = SIZE, .kind = ERROR_UNAVAILABLE,
      .opens = true, RESPONSES(SENT(STATED, 0, 0)) },
    { .name = "broken, and gone", .size = SIZE, .kind = ERROR_NOT_FOUND, .opens = true,
      RESPONSES(SENT(STATED, 0, BROKEN), { .head = "HTTP/1.1 404 No\r\n" }) },
    { .name = "broken, and another length", .size = SIZE, .kind = ERROR_BACKEND, .opens = true,
      RESPONSES(SENT(STATED, 0, BROKEN), SENT(OK_HEAD "Content-Length: 5\r\n", 0, 5)) },
};
/* clang-format on */

START_TEST(a_body_that_is_not_whole_is_never_taken_for_one) {
    for (size_t i = 0; i < LENGTH(failures); i++) {
        const struct failure *failure = &failures[i];
        const struct copy_position beginning = { 0 };
        autovolumeio struct volume_io *to = memory_volume(2 * SIZE);
        struct copy copy = { .to = to, .blank = true };
        struct http_peer_server peer;
        struct http_source_settings settings;
        bool is_timed = strstr(failure->name, "in time");
        struct error err = { 0 };

        start_peer(&peer, failure->responses);
        settings = settings_of(&peer, failure->size, failure->most, failure->start,
                               is_timed ? SHORT_MS : LONG_MS);
        copy.from = http_source_io_open(&settings, &err);
        if (!is_timed)
            ck_assert_msg(!copy.from == !failure->opens, "%s: %s", failure->name, err.message);
        if (copy.from)
            ck_assert_msg(copy_run(&copy, &beginning, &err) == -1, "%s", failure->name);
        ck_assert_msg(err.kind == failure->kind, "%s: %s", failure->name, err.message);
        ck_assert_ptr_null(strstr(err.message, "secret"));
        volume_io_close(copy.from);
        http_peer_stop(&peer);
    }
}
END_TEST

static int refuse(void *arg, struct error *err) {
    ++*(unsigned *)arg;
    return error_set(err, ERROR_CONFLICT, "cancelled");
}

START_TEST(a_wait_for_the_server_is_cancelled) {
    static const struct http_response responses[2] = { { STATED, 0, BROKEN, .hangs = true } };
    const struct copy_position beginning = { 0 };
    autovolumeio struct volume_io *to = memory_volume(SIZE);
    struct copy copy = { .to = to, .blank = true };
    struct http_peer_server peer;
    struct http_source_settings settings;
    struct error err = { 0 };
    unsigned queries = 0;

    start_peer(&peer, responses);
    settings = settings_of(&peer, SIZE, 0, 0, LONG_MS);
    settings.request.may = refuse;
    settings.request.arg = &queries;
    copy.from = http_source_io_open(&settings, &err);
    if (copy.from)
        ck_assert_int_eq(copy_run(&copy, &beginning, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    ck_assert_uint_eq(queries, 1);
    volume_io_close(copy.from);
    http_peer_stop(&peer);
}
END_TEST

static int renew(void *arg, struct http_transfer_call *request, struct error *err) {
    static const struct http_header headers[] = { { "X-Auth-Token", "next" }, { 0 } };

    (void)err;
    ++*(unsigned *)arg;
    request->headers = headers;
    return 0;
}

/* At the start, and where a connection is renewed. */
START_TEST(refused_credentials_are_replaced_once_for_each_connection) {
    static const struct http_response at_start[] = { { .head = "HTTP/1.1 401 No\r\n" },
                                                     SENT(STATED, 0, SIZE) },
                                      later[] = { SENT(STATED, 0, BROKEN),
                                                  { .head = "HTTP/1.1 401 No\r\n" },
                                                  SENT(REST, BROKEN, SIZE) },
                                      always[] = { { .head = "HTTP/1.1 401 No\r\n" } };
    static const struct {
        const struct http_response *responses;
        size_t count;
        unsigned connections;
        bool opens;
    } rows[] = { { at_start, 2, 2, true }, { later, 3, 3, true }, { always, 1, 2, false } };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        const struct copy_position beginning = { 0 };
        autovolumeio struct volume_io *to = memory_volume(2 * SIZE);
        struct copy copy = { .to = to, .blank = true };
        struct http_peer_server peer = { .responses = rows[i].responses,
                                         .count = rows[i].count,
                                         .bytes = bytes };
        struct http_source_settings settings;
        struct error err = { 0 };
        unsigned renewed = 0;

        http_peer_start(&peer);
        settings = settings_of(&peer, SIZE, 0, 0, LONG_MS);
        settings.renew = renew;
        settings.renew_arg = &renewed;
        copy.from = http_source_io_open(&settings, &err);
        ck_assert_msg((copy.from != NULL) == rows[i].opens, "row %zu: %s", i, err.message);
        if (copy.from)
            ck_assert_msg(copy_run(&copy, &beginning, &err) == 0, "row %zu: %s", i, err.message);
        else
            ck_assert_int_eq(err.kind, ERROR_UNAUTHORIZED);
        volume_io_close(copy.from);
        http_peer_stop(&peer);
        ck_assert_uint_eq(renewed, 1);
        ck_assert_uint_eq(peer.connections, rows[i].connections);
        ck_assert_ptr_nonnull(
            strstr(peer.requests[peer.connections - 1], "X-Auth-Token: next\r\n"));
        if (copy.from)
            assert_bytes(to, 0);
    }
}
END_TEST

CHECK_MAIN_WITH("http_source_io", true, begin, NULL,
                a_body_is_copied_whole_and_its_zeros_become_holes,
                a_copied_body_has_the_checksum_of_its_bytes_alone,
                a_body_that_is_not_whole_is_never_taken_for_one, a_wait_for_the_server_is_cancelled,
                refused_credentials_are_replaced_once_for_each_connection)
