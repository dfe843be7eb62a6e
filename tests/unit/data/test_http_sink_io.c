/*
 * Uploads to an HTTP server, which may refuse and stop at any time.
 */
#include "data/http_sink_io.h"

#include "data/copy.h"
#include "tests/unit/data/http_peer.h"

#define SIZE     (3 * MIB + 700)
#define LONG_MS  ((int64_t)600000)
#define SHORT_MS ((int64_t)200)

/* Zeros at the start and at the end, and between data. */
static struct volume_io *a_volume(void) {
    struct volume_io *io = memory_volume(SIZE);

    fill(io, 100 * KIB, 70 * KIB, 1);
    fill(io, 2 * MIB, 200 * KIB, 2);
    return io;
}

static void start_peer(struct http_peer_server *peer, const struct http_response *response) {
    *peer = (struct http_peer_server){ .responses = response, .count = 1 };
    http_peer_start(peer);
}

static struct volume_io *open_sink(const struct http_peer_server *peer, int64_t timeout_ms) {
    static const struct http_header headers[] = { { "X-Auth-Token", "token" }, { NULL, NULL } };
    const struct http_transfer_call request = { .url = peer->url,
                                                .headers = headers,
                                                .timeout_ms = timeout_ms };
    struct error err = { 0 };
    struct volume_io *io = http_sink_io_open(&request, SIZE, &err);

    ck_assert_msg(io != NULL, "%s", err.message);
    return io;
}

static int note(void *arg, int64_t done, int64_t all, struct error *err) {
    (void)err;
    ck_assert_int_le(done, all);
    ++*(unsigned *)arg;
    return 0;
}

static int upload(struct volume_io *to, struct error *err) {
    static const struct copy_position beginning;
    autovolumeio struct volume_io *from = a_volume();
    unsigned reports = 0;
    const struct copy copy = { .from = from, .to = to, .report = note, .arg = &reports };
    int result = copy_run(&copy, &beginning, err);

    ck_assert_uint_ge(reports, 1);
    return result;
}

START_TEST(an_upload_is_all_of_a_volume_with_its_zeros) {
    static const struct http_response accepted = { .head = "HTTP/1.1 204 No Content\r\n" };
    autovolumeio struct volume_io *same = a_volume(), *found = memory_volume(SIZE);
    struct http_peer_server peer;
    struct volume_io *io;
    struct error err = { 0 };

    start_peer(&peer, &accepted);
    io = open_sink(&peer, LONG_MS);
    ck_assert_msg(upload(io, &err) == 0, "%s", err.message);
    ck_assert_int_eq(volume_io_flush(io, &err), 0); /* again */
    ck_assert_int_eq(volume_io_write(io, "x", 1, 0, &err), -1);
    volume_io_close(io);
    peer.ends = true;
    pthread_join(peer.thread, NULL);
    ck_assert(peer.is_whole);
    ck_assert_uint_eq(peer.body_size, SIZE);
    for (int64_t at = 0; at < SIZE; at += MIB)
        ck_assert_int_eq(volume_io_write(found, peer.body + at,
                                         (size_t)(SIZE - at < MIB ? SIZE - at : MIB), at, &err),
                         0);
    assert_same_bytes(found, same, SIZE);
    ck_assert_ptr_nonnull(strstr(peer.requests[0], "PUT /image?secret HTTP/1.1\r\n"));
    ck_assert_ptr_nonnull(strstr(peer.requests[0], "Transfer-Encoding: chunked\r\n"));
    ck_assert_ptr_nonnull(strstr(peer.requests[0], "Content-Type: application/octet-stream\r\n"));
    ck_assert_ptr_nonnull(strstr(peer.requests[0], "X-Auth-Token: token\r\n"));
    ck_assert_ptr_null(strstr(peer.requests[0], "Expect:"));
    close(peer.listener);
    free(peer.body);
}
END_TEST

static const struct refusal {
    const char *name;
    struct http_response response;
    enum error_kind kind;
} refusals[] = {
    { "redirect", { .head = "HTTP/1.1 307 Elsewhere\r\nLocation: /\r\n" }, ERROR_BACKEND },
    { "bad request", { .head = "HTTP/1.1 400 No\r\n" }, ERROR_BACKEND },
    { "token expired", { .head = "HTTP/1.1 401 No\r\n" }, ERROR_UNAUTHORIZED },
    { "saved by another", { .head = "HTTP/1.1 409 No\r\n" }, ERROR_BACKEND },
    { "deleted", { .head = "HTTP/1.1 410 No\r\n" }, ERROR_GONE },
    { "full", { .head = "HTTP/1.1 413 No\r\n" }, ERROR_OVER_QUOTA },
    { "full at once", { .head = "HTTP/1.1 413 No\r\n", .early = true }, ERROR_OVER_QUOTA },
    { "another format", { .head = "HTTP/1.1 415 No\r\n" }, ERROR_BAD_MEDIA_TYPE },
    { "read-only", { .head = "HTTP/1.1 503 No\r\n" }, ERROR_UNAVAILABLE },
    { "no response", { .head = NULL }, ERROR_UNAVAILABLE },
    { "no response in time", { .head = NULL, .hangs = true }, ERROR_UNAVAILABLE },
};

START_TEST(an_upload_that_is_not_accepted_has_failed) {
    for (size_t i = 0; i < LENGTH(refusals); i++) {
        const struct refusal *refusal = &refusals[i];
        struct http_peer_server peer;
        struct volume_io *io;
        struct error err = { 0 };

        start_peer(&peer, &refusal->response);
        io = open_sink(&peer, strstr(refusal->name, "in time") ? SHORT_MS : LONG_MS);
        ck_assert_msg(upload(io, &err) == -1, "%s", refusal->name);
        ck_assert_msg(err.kind == refusal->kind, "%s: %s", refusal->name, err.message);
        ck_assert_ptr_null(strstr(err.message, "secret"));
        ck_assert_int_eq(volume_io_flush(io, &err), -1);
        volume_io_close(io);
        http_peer_stop(&peer);
    }
}
END_TEST

/* The server sees no end of the body. */
START_TEST(an_upload_that_is_left_is_broken_off) {
    static const struct http_response accepted = { .head = "HTTP/1.1 204 No Content\r\n" };
    struct http_peer_server peer;
    struct volume_io *io;
    char bytes[4096] = "x";
    struct error err = { 0 };

    start_peer(&peer, &accepted);
    io = open_sink(&peer, LONG_MS);
    ck_assert_int_eq(volume_io_write(io, bytes, sizeof(bytes), 0, &err), 0);
    ck_assert_int_eq(volume_io_write(io, bytes, sizeof(bytes), 0, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
    ck_assert_int_eq(volume_io_flush(io, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
    ck_assert_int_eq(volume_io_read(io, bytes, sizeof(bytes), 0, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
    volume_io_close(io);
    http_peer_stop(&peer);
    ck_assert(!peer.is_whole);
}
END_TEST

CHECK_MAIN("http_sink_io", an_upload_is_all_of_a_volume_with_its_zeros,
           an_upload_that_is_not_accepted_has_failed, an_upload_that_is_left_is_broken_off)
