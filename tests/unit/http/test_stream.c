#include "http/stream.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "http/server.h"
#include "tests/lib/check_main.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* ---- the writer ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct http_exchange *kept;
static unsigned woken;

static void keep(void *arg, struct http_exchange *exchange) {
    (void)arg;
    pthread_mutex_lock(&lock);
    while (kept)
        pthread_cond_wait(&changed, &lock);
    kept = exchange;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static struct http_exchange *take_kept(void) {
    struct http_exchange *exchange;

    pthread_mutex_lock(&lock);
    while (!kept)
        pthread_cond_wait(&changed, &lock);
    exchange = take(kept);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return exchange;
}

static void wake(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    woken++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void await_wake(void) {
    pthread_mutex_lock(&lock);
    while (woken == 0)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

static struct http_stream *open_kept(void) {
    struct http_exchange *exchange = take_kept();

    exchange->status = 200;
    http_add_header(exchange, "X-Answer", "yes");
    woken = 0;
    return http_stream_open(exchange, wake, NULL);
}

static enum http_stream_state put(struct http_stream *stream, const char *text) {
    return http_stream_put(stream, text, strlen(text));
}

/* ---- server and client ---- */

static struct http_server *start_with(unsigned idle_seconds, unsigned request_seconds) {
    static const struct http_mount mounts[] = { { "", keep, NULL }, { NULL, NULL, NULL } };
    const struct http_server_settings settings = {
        .address = "127.0.0.1",
        .mounts = mounts,
        .threads = 2,
        .idle_seconds = idle_seconds,
        .request_seconds = request_seconds,
        .answer_bytes = (size_t)1024 * 1024,
    };
    struct http_server *server = NULL;
    struct error err = { 0 };

    ck_assert_msg(http_server_start(&settings, &server, &err) == 0, "%s", err.message);
    return server;
}

static struct http_server *start(unsigned idle_seconds) {
    return start_with(idle_seconds, 0);
}

static int dial(const struct http_server *server) {
    struct timeval limit = { .tv_sec = 60 };
    struct sockaddr_in where = { .sin_family = AF_INET,
                                 .sin_port = htons((uint16_t)http_server_port(server)),
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    const int space = 4096;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_ge(fd, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &space, sizeof(space));
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&where, sizeof(where)), 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    return fd;
}

static int send_request(const struct http_server *server, const char *request) {
    int fd = dial(server);

    ck_assert_int_gt(send(fd, request, strlen(request), MSG_NOSIGNAL), 0);
    return fd;
}
#define GET "GET /a HTTP/1.1\r\nHost: x\r\n\r\n"

/* Up to and with `end`, or all there is before the peer closes. */
static const char *receive(int fd, const char *end) {
    static char text[65536];
    size_t size = 0;

    memset(text, 0, sizeof(text));
    while (size + 1 < sizeof(text) && recv(fd, text + size, 1, 0) == 1)
        if (++size && end && size >= strlen(end) && strcmp(text + size - strlen(end), end) == 0)
            break;
    return text;
}

static void pause_ms(long ms) {
    const struct timespec pause = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

    nanosleep(&pause, NULL);
}

/* Until the client is known to be gone. */
static void await_end(struct http_stream *stream) {
    while (put(stream, "") != HTTP_STREAM_OVER)
        pause_ms(1);
}

/* ---- tests ---- */

START_TEST(each_piece_leaves_at_once_and_the_connection_goes_on) {
    struct http_server *server = start(60);
    autoclose int fd = send_request(server, GET);
    struct http_stream *stream = open_kept();
    const char *head = receive(fd, "\r\n\r\n");

    ck_assert_ptr_nonnull(strstr(head, "200 OK"));
    ck_assert_ptr_nonnull(strcasestr(head, "Transfer-Encoding: chunked"));
    ck_assert_ptr_nonnull(strstr(head, "X-Answer: yes"));
    ck_assert_int_eq(put(stream, "one\n"), HTTP_STREAM_TAKEN);
    ck_assert_str_eq(receive(fd, "\n\r\n"), "4\r\none\n\r\n");
    ck_assert_int_eq(put(stream, "twelve\n"), HTTP_STREAM_TAKEN);
    ck_assert_str_eq(receive(fd, "\n\r\n"), "7\r\ntwelve\n\r\n");
    http_stream_end(stream);
    ck_assert_str_eq(receive(fd, "\r\n\r\n"), "0\r\n\r\n");

    ck_assert_int_gt(send(fd, GET, strlen(GET), MSG_NOSIGNAL), 0);
    stream = open_kept();
    ck_assert_int_eq(put(stream, "more\n"), HTTP_STREAM_TAKEN);
    http_stream_end(stream);
    receive(fd, "\r\n\r\n");
    ck_assert_str_eq(receive(fd, "0\r\n\r\n"), "5\r\nmore\n\r\n0\r\n\r\n");
    http_server_stop(server, 0);
}
END_TEST

START_TEST(an_http_1_0_client_reads_until_the_connection_closes) {
    struct http_server *server = start(60);
    autoclose int fd = send_request(server, "GET /a HTTP/1.0\r\n\r\n");
    struct http_stream *stream = open_kept();

    ck_assert_int_eq(put(stream, "one\n"), HTTP_STREAM_TAKEN);
    ck_assert_ptr_null(strcasestr(receive(fd, "\r\n\r\n"), "chunked"));
    ck_assert_str_eq(receive(fd, "\n"), "one\n");
    ck_assert_int_eq(put(stream, "two\n"), HTTP_STREAM_TAKEN);
    http_stream_end(stream);
    ck_assert_str_eq(receive(fd, NULL), "two\n");
    http_server_stop(server, 0);
}
END_TEST

START_TEST(a_head_request_gets_no_piece) {
    struct http_server *server = start(60);
    autoclose int fd =
        send_request(server, "HEAD /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    struct http_stream *stream = open_kept();

    put(stream, "one\n");
    await_end(stream);
    http_stream_end(stream);
    ck_assert_ptr_null(strstr(receive(fd, NULL), "one"));
    http_server_stop(server, 0);
}
END_TEST

START_TEST(a_quiet_stream_outlives_the_idle_timeout_and_ends_with_its_client) {
    struct http_server *server = start(1);
    int fd = send_request(server, GET);
    struct http_stream *stream = open_kept();

    receive(fd, "\r\n\r\n");
    pause_ms(2500); /* no connection may be idle for so long */
    ck_assert_int_eq(put(stream, "still\n"), HTTP_STREAM_TAKEN);
    ck_assert_str_eq(receive(fd, "\n\r\n"), "6\r\nstill\n\r\n");
    close(fd);
    await_end(stream);
    await_wake();
    http_stream_end(stream);
    http_server_stop(server, 0);
}
END_TEST

/* No clock has a part in it: all of this server's are hours away. */
START_TEST(a_client_that_leaves_a_quiet_stream_is_noticed_at_once) {
    enum { HOURS = 36000, WAYS = 3 };
    const struct linger reset = { .l_onoff = 1, .l_linger = 0 };
    struct http_server *server = start_with(HOURS, HOURS);

    for (int way = 0; way < WAYS; way++) {
        int fd = send_request(server, GET);
        struct http_stream *stream;

        if (way == 2)
            shutdown(fd, SHUT_WR); /* before the stream begins */
        stream = open_kept();
        if (way == 1)
            setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
        if (way < 2) {
            receive(fd, "\r\n\r\n");
            close(fd);
        }
        await_wake();
        await_end(stream);
        http_stream_end(stream);
        if (way == 2)
            close(fd);
    }
    http_server_stop(server, 0);
}
END_TEST

/* Sockets of the server and of its clients, which this process has all; by their names, as other
 * threads open and close them meanwhile. */
static unsigned sockets(void) {
    static const char begins[] = "socket:";
    DIR *directory = opendir("/proc/self/fd");
    const struct dirent *entry;
    unsigned count = 0;
    char target[sizeof(begins)];

    ck_assert_ptr_nonnull(directory);
    while ((entry = readdir(directory)))
        count += readlinkat(dirfd(directory), entry->d_name, target, sizeof(target)) > 0 &&
                 memcmp(target, begins, strlen(begins)) == 0;
    closedir(directory);
    return count;
}

/* Nothing else happens on the server, where a connection that is older stays quiet. */
START_TEST(the_connection_of_a_client_that_left_a_quiet_stream_is_closed_at_once) {
    enum { HOURS = 36000, CLIENTS = 8 };
    struct http_server *server = start_with(HOURS, HOURS);
    const unsigned with_quiet = sockets() + 2; /* each connection has two ends here */
    autoclose int quiet = send_request(server, "GET");

    ck_assert_int_ge(quiet, 0);
    while (sockets() < with_quiet)
        pause_ms(1);
    for (int i = 0; i < CLIENTS; i++) {
        int fd = send_request(server, GET);
        struct http_stream *stream = open_kept();

        receive(fd, "\r\n\r\n");
        close(fd);
        await_end(stream);
        http_stream_end(stream);
    }
    while (sockets() > with_quiet)
        pause_ms(1);
    http_server_stop(server, 0);
}
END_TEST

START_TEST(unread_data_is_bounded_and_its_client_is_closed) {
    struct http_server *server = start(1);
    autoclose int fd = send_request(server, GET);
    struct http_stream *stream = open_kept();
    char piece[4001] = "";
    enum http_stream_state state;
    size_t total = 0;

    ck_assert_int_ge(fd, 0); /* there is no reader */
    memset(piece, 'x', sizeof(piece) - 1);
    while ((state = put(stream, piece)) == HTTP_STREAM_TAKEN || total < 100000) {
        if (state == HTTP_STREAM_TAKEN)
            total += sizeof(piece) - 1;
        ck_assert_uint_lt(total, 1000000); /* with the kernel's buffers */
    }
    await_end(stream);
    ck_assert_int_eq(put(stream, "x"), HTTP_STREAM_OVER);
    http_stream_end(stream);
    http_server_stop(server, 0);
}
END_TEST

START_TEST(the_writer_of_a_full_stream_is_woken_when_there_is_space) {
    struct http_server *server = start(60);
    autoclose int fd = send_request(server, GET);
    struct http_stream *stream = open_kept();
    char piece[4001] = "";
    char space[4096];

    memset(piece, 'x', sizeof(piece) - 1);
    for (int full = 0; full < 20; pause_ms(1))
        if (put(stream, piece) == HTTP_STREAM_FULL)
            full++;
        else
            full = 0;
    ck_assert_int_eq(put(stream, ""), HTTP_STREAM_FULL);
    woken = 0;
    while (put(stream, "") == HTTP_STREAM_FULL)
        ck_assert_int_gt(recv(fd, space, sizeof(space), 0), 0);
    await_wake();
    ck_assert_int_eq(put(stream, piece), HTTP_STREAM_TAKEN);
    http_stream_end(stream);
    http_server_stop(server, 0);
}
END_TEST

START_TEST(a_piece_larger_than_the_limit_is_sent_alone_and_counts) {
    struct http_server *server = start(60);
    autoclose int first = send_request(server, GET);
    struct http_stream *one = open_kept();
    int second = send_request(server, GET);
    struct http_stream *other = open_kept();
    const size_t size = (size_t)900 * 1024;
    char *large = malloc(size + 1);

    memset(large, 'x', size);
    large[size] = '\0';
    ck_assert_int_eq(put(one, large), HTTP_STREAM_TAKEN);
    ck_assert_int_eq(put(one, large), HTTP_STREAM_FULL);
    ck_assert_int_eq(put(other, large), HTTP_STREAM_FULL); /* one address has half of all */
    ck_assert_int_eq(put(other, ""), HTTP_STREAM_TAKEN);   /* nothing would wake it */
    ck_assert_int_eq(put(other, "x"), HTTP_STREAM_TAKEN);
    for (size_t received = 0; received < size;) {
        ssize_t got = recv(first, large, size, 0);

        ck_assert_int_gt(got, 0);
        received += (size_t)got;
    }
    while (put(other, large) != HTTP_STREAM_TAKEN)
        pause_ms(1);
    http_stream_end(one);
    http_stream_end(other);
    close(second);
    free(large);
    http_server_stop(server, 0);
}
END_TEST

START_TEST(a_server_that_stops_ends_its_streams_at_once) {
    struct http_server *server = start(60);
    autoclose int fd = send_request(server, GET);
    struct http_stream *stream = open_kept();

    ck_assert_int_eq(put(stream, "last\n"), HTTP_STREAM_TAKEN);
    http_server_stop(server, 1000000); /* nothing waits so long */
    receive(fd, "\r\n\r\n");
    ck_assert_str_eq(receive(fd, NULL), "5\r\nlast\n\r\n0\r\n\r\n");
    ck_assert_int_eq(put(stream, "x"), HTTP_STREAM_OVER);
    await_wake();
    http_stream_end(stream);
}
END_TEST

START_TEST(a_stream_may_begin_after_the_server_has_abandoned_it) {
    struct http_server *server = start(60);
    autoclose int fd = send_request(server, GET);
    struct http_exchange *exchange = take_kept();
    struct http_stream *stream;

    pause_ms(20); /* the connection sleeps */
    http_server_stop(server, 0);
    ck_assert_ptr_nonnull(strstr(receive(fd, "\r\n\r\n"), "503"));
    exchange->status = 200;
    stream = http_stream_open(exchange, wake, NULL);
    ck_assert_int_eq(put(stream, "x"), HTTP_STREAM_OVER);
    http_stream_end(stream);
}
END_TEST

#define CROWD 40

/* Writes until nothing is read, or for a while. */
static void *write_much(void *arg) {
    struct http_stream *stream = arg;

    for (int i = 0; i < 300; i++) {
        if (put(stream, "{\"some\": \"line\"}\n") == HTTP_STREAM_OVER)
            break;
        if (i % 10 == 0)
            pause_ms(1);
    }
    http_stream_end(stream);
    return NULL;
}

START_TEST(writers_and_clients_meet_in_any_order) {
    struct http_server *server = start(60);
    pthread_t writers[CROWD];
    int clients[CROWD];
    char space[256];

    for (int i = 0; i < CROWD; i++) {
        clients[i] = send_request(server, GET);
        ck_assert_int_eq(pthread_create(&writers[i], NULL, write_much, open_kept()), 0);
    }
    for (int i = 0; i < CROWD; i++) {
        for (int j = 0; j < i; j++)
            recv(clients[i], space, sizeof(space), MSG_DONTWAIT);
        if (i % 2)
            close(clients[i]);
    }
    http_server_stop(server, 0);
    for (int i = 0; i < CROWD; i++) {
        pthread_join(writers[i], NULL);
        if (i % 2 == 0)
            close(clients[i]);
    }
}
END_TEST

CHECK_MAIN("http_stream", each_piece_leaves_at_once_and_the_connection_goes_on,
           an_http_1_0_client_reads_until_the_connection_closes, a_head_request_gets_no_piece,
           a_quiet_stream_outlives_the_idle_timeout_and_ends_with_its_client,
           a_client_that_leaves_a_quiet_stream_is_noticed_at_once,
           the_connection_of_a_client_that_left_a_quiet_stream_is_closed_at_once,
           unread_data_is_bounded_and_its_client_is_closed,
           the_writer_of_a_full_stream_is_woken_when_there_is_space,
           a_piece_larger_than_the_limit_is_sent_alone_and_counts,
           a_server_that_stops_ends_its_streams_at_once,
           a_stream_may_begin_after_the_server_has_abandoned_it,
           writers_and_clients_meet_in_any_order)
