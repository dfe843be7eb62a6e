/* Responses larger than the kernel's buffer, and clients that do not read. */
#include "common/cleanup.h"
#include "http/server.h"
#include "tests/lib/check_main.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LARGE ((size_t)24 * 1024 * 1024)
#define SMALL ((size_t)1000)

static sem_t arena_is_empty;

static void note_empty(void *arg) {
    (void)arg;
    sem_post(&arena_is_empty);
}

static void refuse(void *arg) {
    struct http_exchange *exchange = arg;

    exchange->status = 503;
    exchange->reply_body = "busy";
    exchange->reply_size = 4;
    exchange->reply_header_count = 0;
}

static void reply(struct http_exchange *exchange, size_t size, bool may_be_refused) {
    char *body = arena_reserve(exchange->arena, size);

    memset(body, 'x', size);
    arena_defer(exchange->arena, note_empty, NULL);
    exchange->status = 200;
    exchange->reply_body = body;
    exchange->reply_size = size;
    http_add_header(exchange, "X-Word", arena_text(exchange->arena, "kept"));
    if (may_be_refused) {
        exchange->refuse = refuse;
        exchange->refuse_arg = exchange;
    }
    http_reply(exchange);
}

static void large(void *arg, struct http_exchange *exchange) {
    (void)arg;
    reply(exchange, LARGE, true);
}

static void must(void *arg, struct http_exchange *exchange) {
    (void)arg;
    reply(exchange, LARGE, false);
}

static void small(void *arg, struct http_exchange *exchange) {
    (void)arg;
    reply(exchange, SMALL, true);
}

static struct http_server *start(size_t answer_bytes) {
    static const struct http_mount mounts[] = { { "/large", large, NULL },
                                                { "/must", must, NULL },
                                                { "/small", small, NULL },
                                                { NULL, NULL, NULL } };
    const struct http_server_settings settings = { .address = "127.0.0.1",
                                                   .mounts = mounts,
                                                   .answer_bytes = answer_bytes };
    struct http_server *server = NULL;
    struct error err = { 0 };

    sem_init(&arena_is_empty, 0, 0);
    ck_assert_msg(http_server_start(&settings, &server, &err) == 0, "%s", err.message);
    return server;
}

/* A client that has sent its request, whose kernel takes little for it. */
static int request_from(uint32_t address, const struct http_server *server, const char *path) {
    const struct sockaddr_in here = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(address) };
    const struct sockaddr_in where = { .sin_family = AF_INET,
                                       .sin_port = htons((uint16_t)http_server_port(server)),
                                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    const struct timeval limit = { .tv_sec = 60 };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), space = 4096;
    char request[100];
    int length = snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);

    ck_assert_int_ge(fd, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &space, sizeof(space));
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    ck_assert_int_eq(bind(fd, (const struct sockaddr *)&here, sizeof(here)), 0);
    ck_assert_int_eq(connect(fd, (const struct sockaddr *)&where, sizeof(where)), 0);
    ck_assert_int_eq(send(fd, request, (size_t)length, MSG_NOSIGNAL), length);
    return fd;
}

static int send_request(const struct http_server *server, const char *path) {
    return request_from(INADDR_LOOPBACK, server, path);
}

/* The status, which comes when the response has found its memory; the rest of it stays where it
 * is. */
static int status_of(int fd) {
    char text[13] = "";

    ck_assert_int_eq(recv(fd, text, 12, MSG_WAITALL), 12);
    return atoi(text + 9);
}

static size_t read_the_rest(int fd, size_t most) {
    static char piece[1 << 16];
    size_t size = 0;
    ssize_t got;

    while (size < most && (got = recv(fd, piece, sizeof(piece), 0)) > 0)
        size += (size_t)got;
    return size;
}

START_TEST(one_address_has_half_of_the_memory_for_pending_responses) {
    struct http_server *server = start(5 * LARGE);
    int first = send_request(server, "/large"), second, third, other;

    ck_assert_int_eq(status_of(first), 200);
    second = send_request(server, "/large");
    ck_assert_int_eq(status_of(second), 200);
    third = send_request(server, "/large");
    ck_assert_int_eq(status_of(third), 503); /* three are more than two and a half */
    other = send_request(server, "/small");
    ck_assert_int_eq(status_of(other), 200);
    close(other);
    other = send_request(server, "/must");
    ck_assert_int_eq(status_of(other), 200);
    close(first);
    close(second);
    close(third);
    close(other);
    http_server_stop(server, 0);
}
END_TEST

START_TEST(the_slowest_client_of_the_largest_address_is_evicted) {
    struct http_server *server = start(4 * LARGE);
    int readers[4], other, own;

    for (unsigned i = 0; i < LENGTH(readers); i++) { /* two of one address, two of another */
        readers[i] = request_from(INADDR_LOOPBACK + 1 + i / 2, server, "/large");
        ck_assert_int_eq(status_of(readers[i]), 200);
    }
    other = send_request(server, "/large");
    ck_assert_int_eq(status_of(other), 200);
    ck_assert_uint_lt(read_the_rest(readers[0], LARGE), LARGE - 1000);
    own = send_request(server, "/large"); /* it would have as much as the one with most */
    ck_assert_int_eq(status_of(own), 503);
    for (unsigned i = 1; i < LENGTH(readers); i++)
        ck_assert_uint_gt(read_the_rest(readers[i], LARGE), LARGE - 1000);
    ck_assert_uint_gt(read_the_rest(other, LARGE), LARGE - 1000);
    for (unsigned i = 0; i < LENGTH(readers); i++)
        close(readers[i]);
    close(other);
    close(own);
    http_server_stop(server, 0);
}
END_TEST

/* The end of the answer before is noticed a moment after its client has left. */
static int request_until_there_is_space(const struct http_server *server) {
    for (;;) {
        int fd = send_request(server, "/large"), status = status_of(fd);

        if (status == 200)
            return fd;
        ck_assert_int_eq(status, 503);
        close(fd);
    }
}

START_TEST(a_read_or_abandoned_response_frees_its_memory) {
    struct http_server *server = start(2 * LARGE + 1);
    int reader = send_request(server, "/large");

    ck_assert_int_eq(status_of(reader), 200);
    ck_assert_uint_gt(read_the_rest(reader, LARGE), LARGE - 1000);
    close(reader);
    for (unsigned i = 0; i < 3; i++)
        close(request_until_there_is_space(server)); /* of which nothing more is read */
    http_server_stop(server, 0);
}
END_TEST

START_TEST(a_single_response_fits_whatever_its_size) {
    struct http_server *server = start(1);
    int reader = send_request(server, "/large");

    ck_assert_int_eq(status_of(reader), 200);
    ck_assert_uint_gt(read_the_rest(reader, LARGE + 50), LARGE - 1000);
    close(reader);
    http_server_stop(server, 0);
}
END_TEST

/* The memory of the request is released before its client has read the response. */
START_TEST(only_the_response_waits_for_its_client) {
    struct http_server *server = start(0);
    int reader = send_request(server, "/large");

    ck_assert_int_eq(status_of(reader), 200);
    sem_wait(&arena_is_empty);
    ck_assert_uint_gt(read_the_rest(reader, LARGE), LARGE - 1000);
    close(reader);
    http_server_stop(server, 0);
}
END_TEST

CHECK_MAIN("http_answers", one_address_has_half_of_the_memory_for_pending_responses,
           the_slowest_client_of_the_largest_address_is_evicted,
           a_read_or_abandoned_response_frees_its_memory, a_single_response_fits_whatever_its_size,
           only_the_response_waits_for_its_client)
