#include "http/server.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "http/listen.h"
#include "tests/lib/check_main.h"
#include "json/out.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define BODY_LIMIT 1000

/* ---- handlers ---- */

static atomic_int calls;

/* Sends back the bytes that arrived. */
static void echo(void *arg, struct http_exchange *exchange) {
    const char *header = http_header(exchange, "x-probe");

    if (exchange->malformed) {
        exchange->status = 400;
        exchange->reply_body = exchange->malformed;
        exchange->reply_size = strlen(exchange->malformed);
        http_reply(exchange);
        return;
    }
    if (exchange->over_limit && strcmp(exchange->path, "/healthcheck") != 0) {
        exchange->status = 503;
        http_reply(exchange);
        return;
    }
    atomic_fetch_add(&calls, 1);
    exchange->status = 200;
    exchange->reply_body = arena_format(
        exchange->arena, "%s|%s|%s|%s|%s|%s|%zu|%d|%s", (const char *)arg, exchange->method,
        exchange->path, exchange->query, exchange->peer, header ? header : "-", exchange->body_size,
        exchange->too_large, exchange->body_size < 100 ? exchange->body : "long");
    exchange->reply_size = strlen(exchange->reply_body);
    http_add_header(exchange, "X-Answer", "yes");
    http_add_header(exchange, "X-Forged", "a\r\nSet-Cookie: b");
    http_reply(exchange);
}

/* Keeps exchanges for the test to reply to. */
struct shelf {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct http_exchange *kept;
};

static struct shelf shelf = { .lock = PTHREAD_MUTEX_INITIALIZER,
                              .changed = PTHREAD_COND_INITIALIZER };

static void keep(void *arg, struct http_exchange *exchange) {
    (void)arg;
    pthread_mutex_lock(&shelf.lock);
    shelf.kept = exchange;
    pthread_cond_signal(&shelf.changed);
    pthread_mutex_unlock(&shelf.lock);
}

static struct http_exchange *take_kept(void) {
    struct http_exchange *exchange;

    pthread_mutex_lock(&shelf.lock);
    while (!shelf.kept)
        pthread_cond_wait(&shelf.changed, &shelf.lock);
    exchange = take(shelf.kept);
    pthread_mutex_unlock(&shelf.lock);
    return exchange;
}

/* NULL when the connection is closed instead. */
static struct http_exchange *take_kept_from(int fd) {
    struct http_exchange *exchange = NULL;
    struct pollfd closed = { .fd = fd, .events = POLLIN };

    while (!exchange && poll(&closed, 1, 1) == 0) {
        pthread_mutex_lock(&shelf.lock);
        exchange = take(shelf.kept);
        pthread_mutex_unlock(&shelf.lock);
    }
    return exchange;
}

static void *reply_elsewhere(void *arg) {
    echo((void *)(uintptr_t) "thread", arg);
    return NULL;
}

/* Replies from another thread: before, while or after the connection falls asleep. */
static void race(void *arg, struct http_exchange *exchange) {
    pthread_t thread;

    (void)arg;
    ck_assert_int_eq(pthread_create(&thread, NULL, reply_elsewhere, exchange), 0);
    pthread_detach(thread);
}

/* A response whose text has memory of its own. */
static void list(void *arg, struct http_exchange *exchange) {
    struct json_out out;

    (void)arg;
    json_out_init(&out, exchange->arena, 0);
    out_begin_array(&out);
    for (int i = 0; i < 20000; i++)
        out_int(&out, i);
    out_end_array(&out);
    ck_assert_ptr_nonnull(out.heap);
    exchange->status = 200;
    exchange->reply_body = json_out_text(&out);
    exchange->reply_size = out.size;
    exchange->reply_heap = out.heap;
    http_reply(exchange);
}

/* A response that names the memory of the request. */
static void tell_memory(void *arg, struct http_exchange *exchange) {
    (void)arg;
    exchange->status = 200;
    exchange->reply_body = arena_format(exchange->arena, "%p", (void *)exchange->arena);
    exchange->reply_size = strlen(exchange->reply_body);
    http_reply(exchange);
}

/* ---- server and client ---- */

static const struct http_mount mounts[] = {
    { "", echo, (void *)(uintptr_t) "root" },
    { "/compute", echo, (void *)(uintptr_t) "compute" },
    { "/compute/deep/", echo, (void *)(uintptr_t) "deep" },
    { "/keep", keep, NULL },
    { "/race", race, NULL },
    { "/list", list, NULL },
    { "/memory", tell_memory, NULL },
    { NULL, NULL, NULL },
};

static struct http_server *start(struct http_server_settings settings) {
    struct http_server *server = NULL;
    struct error err = { 0 };

    settings.address = settings.address ? settings.address : "127.0.0.1";
    settings.mounts = settings.mounts ? settings.mounts : mounts;
    settings.body_limit = BODY_LIMIT;
    ck_assert_msg(http_server_start(&settings, &server, &err) == 0, "%s", err.message);
    ck_assert_uint_gt(http_server_port(server), 0);
    return server;
}
#define START(...) start((struct http_server_settings){ __VA_ARGS__ })

static int try_dial(unsigned port) {
    struct sockaddr_in where = { .sin_family = AF_INET,
                                 .sin_port = htons((uint16_t)port),
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    autoclose int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_ge(fd, 0);
    if (connect(fd, (struct sockaddr *)&where, sizeof(where)) < 0)
        return -1;
    return take_fd(fd);
}

static int dial_from(const struct http_server *server, const char *address) {
    struct timeval limit = { .tv_sec = 60 };
    struct sockaddr_in own = { .sin_family = AF_INET };
    struct sockaddr_in where = { .sin_family = AF_INET,
                                 .sin_port = htons((uint16_t)http_server_port(server)),
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(inet_pton(AF_INET, address, &own.sin_addr), 1);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&own, sizeof(own)), 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&where, sizeof(where)), 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    return fd;
}

static int dial(const struct http_server *server) {
    struct timeval limit = { .tv_sec = 60 };
    int fd = try_dial(http_server_port(server));

    ck_assert_int_ge(fd, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    return fd;
}

static void send_text(int fd, const char *text) {
    size_t size = strlen(text);

    while (size > 0) {
        ssize_t sent = send(fd, text, size, MSG_NOSIGNAL);

        ck_assert_int_gt(sent, 0);
        text += sent;
        size -= (size_t)sent;
    }
}

/* Reads one answer with a Content-Length; "" when the peer has closed. */
static const char *receive(int fd) {
    static _Thread_local char text[16384];
    size_t size = 0;
    const char *end, *length;

    memset(text, 0, sizeof(text));
    for (;;) {
        if (recv(fd, text + size, 1, 0) != 1)
            return "";
        size++;
        end = strstr(text, "\r\n\r\n");
        if (end)
            break;
    }
    length = strcasestr(text, "content-length: ");
    if (length) {
        size_t whole = size + (size_t)atoi(length + 16);

        while (size < whole && recv(fd, text + size, 1, 0) == 1)
            size++;
    }
    return text;
}

static const char *receive_to_the_end(int fd) {
    static char text[16384];
    size_t size = 0;
    ssize_t got;

    while ((got = recv(fd, text + size, sizeof(text) - 1 - size, 0)) > 0)
        size += (size_t)got;
    text[size] = '\0';
    return text;
}

static bool is_closed(int fd) {
    char byte;

    return recv(fd, &byte, 1, 0) <= 0 && errno != EAGAIN;
}

static void assert_has(const char *text, const char *part) {
    ck_assert_msg(strstr(text, part) != NULL, "\"%s\" is not in:\n%s", part, text);
}

static void assert_lacks(const char *text, const char *part) {
    ck_assert_msg(strstr(text, part) == NULL, "\"%s\" is in:\n%s", part, text);
}

#define GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\n\r\n"

/* ---- requests ---- */

START_TEST(connection_serves_one_request_after_the_other) {
    struct http_server *server = START();
    autoclose int fd = dial(server);

    send_text(fd, "GET /v3/a%2Fb?x=%20&y HTTP/1.1\r\nHost: x\r\nX-PROBE: Value\r\n\r\n");
    assert_has(receive(fd), "root|GET|/v3/a%2Fb|x=%20&y|127.0.0.1|Value|0|0|");

    send_text(fd, GET("/second"));
    assert_has(receive(fd), "root|GET|/second||127.0.0.1|-|0|0|");
    http_server_stop(server, 0);
}
END_TEST

START_TEST(pipelined_requests_are_answered_in_order) {
    struct http_server *server = START();
    autoclose int fd = dial(server);

    send_text(fd, GET("/1") GET("/race/2") GET("/keep/3") GET("/4"));
    assert_has(receive(fd), "|/1|");
    assert_has(receive(fd), "|/2|");
    echo((void *)(uintptr_t) "late", take_kept());
    assert_has(receive(fd), "late|GET|/3|");
    assert_has(receive(fd), "|/4|");
    http_server_stop(server, 0);
}
END_TEST

START_TEST(requests_of_different_connections_share_the_memory_of_their_thread) {
    struct http_server *server = START(.threads = 1);
    autoclose int one = dial(server), other = dial(server), waiting = dial(server);
    struct http_exchange *kept;
    char first[32] = "";

    for (int i = 0; i < 4; i++) {
        int fd = i % 2 ? other : one;
        const char *body;

        send_text(fd, GET("/memory"));
        body = strstr(receive(fd), "\r\n\r\n");
        ck_assert_ptr_nonnull(body);
        if (i == 0)
            snprintf(first, sizeof(first), "%s", body + 4);
        ck_assert_str_eq(body + 4, first);
    }
    /* a request that has not ended keeps it */
    send_text(waiting, GET("/keep/a"));
    kept = take_kept();
    send_text(one, GET("/memory"));
    assert_lacks(receive(one), first);
    echo((void *)(uintptr_t) "late", kept);
    assert_has(receive(waiting), "late|GET|/a|");
    http_server_stop(server, 0);
}
END_TEST

START_TEST(half_closed_client_gets_its_answer) {
    struct http_server *server = START(.threads = 1);
    autoclose int now = dial(server);
    autoclose int late = dial(server);

    send_text(now, GET("/now"));
    shutdown(now, SHUT_WR);
    assert_has(receive(now), "|/now|");

    for (int i = 0; i < 2; i++) { /* a connection that slept once may sleep again */
        send_text(late, GET("/keep/late"));
        if (i == 1)
            shutdown(late, SHUT_WR);
        echo((void *)(uintptr_t) "late", take_kept());
        assert_has(receive(late), "late|GET|/late|");
    }
    http_server_stop(server, 0);
}
END_TEST

START_TEST(a_client_that_closes_its_side_is_seen_while_its_answer_is_awaited) {
    struct http_server *server = START(.threads = 1);
    autoclose int fd = dial(server);
    struct http_exchange *exchange;

    send_text(fd, GET("/keep/x"));
    exchange = take_kept();
    ck_assert(!http_client_left(exchange));
    shutdown(fd, SHUT_WR);
    while (!http_client_left(exchange))
        sched_yield();
    echo((void *)(uintptr_t) "late", exchange);
    assert_has(receive(fd), "late|GET|/x|");
    http_server_stop(server, 0);
}
END_TEST

START_TEST(an_abandoned_exchange_has_no_client) {
    struct http_server *server = START();
    autoclose int fd = dial(server);
    struct http_exchange *exchange;

    send_text(fd, GET("/keep/x"));
    exchange = take_kept();
    http_server_stop(server, 0);
    ck_assert(http_client_left(exchange));
    echo((void *)(uintptr_t) "late", exchange);
}
END_TEST

START_TEST(longest_mount_wins_and_its_prefix_is_cut) {
    static const struct {
        const char *request, *answer;
    } cases[] = {
        { GET("/compute"), "compute|GET|/|" },
        { GET("/compute?a=b"), "compute|GET|/|a=b|" },
        { GET("/compute/x"), "compute|GET|/x|" },
        { GET("/computer"), "root|GET|/computer|" },
        { GET("/compute/deep/x"), "deep|GET|/x|" },
        { GET("/compute/deeper"), "compute|GET|/deeper|" },
        { GET("http://h:1/compute/x?q"), "compute|GET|/x|q|" },
        { GET("HTTPS://h"), "root|GET|/|" },
        { GET("*"), "HTTP/1.1 400 " },
        { GET("nowhere"), "HTTP/1.1 400 " },
        { "GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 400 " }, /* no Host */
    };
    struct http_server *server = START();

    for (size_t i = 0; i < LENGTH(cases); i++) {
        autoclose int fd = dial(server);

        send_text(fd, cases[i].request);
        assert_has(receive(fd), cases[i].answer);
    }
    http_server_stop(server, 0);
}
END_TEST

START_TEST(path_below_no_mount_is_not_found) {
    static const struct http_mount only[] = { { "/a", echo, (void *)(uintptr_t) "a" },
                                              { NULL, NULL, NULL } };
    struct http_server *server = START(.mounts = only);
    autoclose int fd = dial(server);

    send_text(fd, GET("/b") GET("/a"));
    assert_has(receive(fd), "HTTP/1.1 404 ");
    assert_has(receive(fd), "a|GET|/|");
    http_server_stop(server, 0);
}
END_TEST

START_TEST(head_has_the_length_and_no_body) {
    struct http_server *server = START();
    autoclose int fd = dial(server);
    const char *answer;

    send_text(fd, "HEAD /h HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    answer = receive_to_the_end(fd);
    assert_has(answer, "HTTP/1.1 200 ");
    assert_has(answer, "Content-Length: ");
    assert_lacks(answer, "root|");
    http_server_stop(server, 0);
}
END_TEST

START_TEST(a_large_text_is_sent_whole) {
    static char text[1 << 17];
    struct http_server *server = START();
    autoclose int fd = dial(server);
    size_t size = 0;
    ssize_t got;

    send_text(fd, "HEAD /list HTTP/1.1\r\nHost: x\r\n\r\n"
                  "GET /list HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    while ((got = recv(fd, text + size, sizeof(text) - 1 - size, 0)) > 0)
        size += (size_t)got;
    assert_has(text, "[0,1,2,3,");
    ck_assert_str_eq(text + size - strlen(",19998,19999]"), ",19998,19999]");
    http_server_stop(server, 0);
}
END_TEST

START_TEST(line_breaks_in_a_reply_header_forge_nothing) {
    struct http_server *server = START();
    autoclose int fd = dial(server);
    const char *answer;

    send_text(fd, GET("/"));
    answer = receive(fd);
    assert_has(answer, "X-Answer: yes\r\n");
    assert_lacks(answer, "Set-Cookie");
    http_server_stop(server, 0);
}
END_TEST

/* ---- bodies ---- */

static void send_post(int fd, size_t announced, size_t sent) {
    autofree char *body = calloc(1, sent + 1);
    char head[128];

    memset(body, 'b', sent);
    snprintf(head, sizeof(head), "POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n",
             announced);
    send_text(fd, head);
    send_text(fd, body);
}

START_TEST(body_is_whole_before_the_handler_is_called) {
    struct http_server *server = START();
    autoclose int fd = dial(server);

    send_text(fd, "POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n01234");
    ck_assert_int_eq(calls, 0);
    send_text(fd, "56789");
    assert_has(receive(fd), "|10|0|0123456789");

    send_text(fd, "POST /p HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 10; i++)
        send_text(fd, "2\r\nab\r\n");
    send_text(fd, "0\r\n\r\n" GET("/smuggled"));
    assert_has(receive(fd), "|20|0|abababababababababab");
    ck_assert(is_closed(fd)); /* pieces can be read in more than one way */
    close(fd);

    fd = dial(server);
    send_text(fd,
              "POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
    assert_has(receive(fd), "HTTP/1.1 100 ");
    send_text(fd, "ok");
    assert_has(receive(fd), "|2|0|ok");
    http_server_stop(server, 0);
}
END_TEST

START_TEST(body_above_the_limit_is_dropped_and_answered) {
    struct http_server *server = START();
    autoclose int fd = dial(server);

    send_post(fd, BODY_LIMIT, BODY_LIMIT);
    assert_has(receive(fd), "|1000|0|long");
    send_post(fd, BODY_LIMIT + 1, BODY_LIMIT + 1);
    assert_has(receive(fd), "|0|1|");
    send_post(fd, 300000, 300000);
    assert_has(receive(fd), "|0|1|");
    send_text(fd, GET("/after"));
    assert_has(receive(fd), "|/after|");

    /* Unannounced: the part that was collected before the limit is dropped too. */
    send_text(fd, "POST /p HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 300; i++)
        send_text(fd, "5\r\nabcde\r\n");
    send_text(fd, "0\r\n\r\n");
    assert_has(receive(fd), "|0|1|");
    http_server_stop(server, 0);
}
END_TEST

START_TEST(body_far_above_the_limit_is_not_read) {
    struct http_server *server = START();
    autoclose int announced = dial(server);
    autoclose int endless = dial(server);
    char chunk[4096 + 16];
    int sent = 0;

    send_post(announced, 5000000000, 10);
    assert_has(receive(announced), "|0|1|");
    ck_assert(is_closed(announced));

    calls = 0;
    memset(chunk, 'c', sizeof(chunk));
    memcpy(chunk, "1000\r\n", 6);
    memcpy(chunk + 6 + 4096, "\r\n", 3);
    send_text(endless, "POST /p HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    while (sent < 100000 && send(endless, chunk, 4096 + 8, MSG_NOSIGNAL) > 0)
        sent++;
    ck_assert_int_lt(sent, 100000);
    ck_assert_int_eq(calls, 0);
    http_server_stop(server, 0);
}
END_TEST

/* ---- clients that do harm ---- */

START_TEST(a_query_of_many_parameters_arrives) {
    static char request[16384];
    struct http_server *server = START();
    autoclose int fd = dial(server);
    char *end = stpcpy(request, "GET /many?a=b");

    for (int i = 0; i < 3000; i++)
        end = stpcpy(end, "&a=b");
    strcpy(end, " HTTP/1.1\r\nHost: x\r\nX-Probe: there\r\n\r\n");
    send_text(fd, request);
    assert_has(receive(fd), "&a=b&a=b|127.0.0.1|there|");
    send_text(fd, GET("/other?"));
    assert_has(receive(fd), "|/other||");
    http_server_stop(server, 0);
}
END_TEST

static void send_long_head(int fd, size_t size) {
    static char value[32 * 1024], request[sizeof(value) + 100];

    memset(value, 'a', size);
    value[size] = '\0';
    snprintf(request, sizeof(request),
             "GET /x HTTP/1.1\r\nHost: x\r\nX-Long: %s\r\nX-Probe: p\r\n\r\n", value);
    send_text(fd, request);
}

/* The reference accepts a field of 16 KiB. */
START_TEST(a_head_of_sixteen_kilobytes_is_taken_and_a_longer_one_refused) {
    struct http_server *server = START();
    autoclose int taken = dial(server), refused = dial(server);

    send_long_head(taken, 16 * 1024);
    assert_has(receive(taken), "|/x||127.0.0.1|p|");
    send_long_head(refused, 24 * 1024);
    assert_lacks(receive_to_the_end(refused), " 200 ");
    http_server_stop(server, 0);
}
END_TEST

static unsigned heads_in(const char *text) {
    unsigned count = 0;

    for (; (text = strstr(text, "HTTP/1.1 ")); text++)
        count++;
    return count;
}

/* Parsed cookies take more memory than their text. */
START_TEST(a_head_with_too_many_cookies_is_refused_by_one_response) {
    static const unsigned numbers[] = { 50, 300, 600, 900 };
    struct http_server *server = START();

    for (unsigned i = 0; i < LENGTH(numbers); i++) {
        static char request[16 * 1024];
        autoclose int fd = dial(server);
        int size = snprintf(request, sizeof(request), "GET /x HTTP/1.1\r\nHost: x\r\nCookie: a=1");
        const char *answer;

        for (unsigned n = 0; n < numbers[i]; n++)
            size += snprintf(request + size, sizeof(request) - (size_t)size, "; a%u=%u", n, n);
        snprintf(request + size, sizeof(request) - (size_t)size, "\r\nConnection: close\r\n\r\n");
        send_text(fd, request);
        answer = receive_to_the_end(fd);
        ck_assert_msg(heads_in(answer) == 1, "%u cookies:\n%s", numbers[i], answer);
        ck_assert_msg((strstr(answer, " 200 ") != NULL) == (i == 0), "%u cookies:\n%s", numbers[i],
                      answer);
    }
    http_server_stop(server, 0);
}
END_TEST

/* At any size: it is executed and answered, or refused. */
START_TEST(no_request_is_executed_without_a_response) {
    struct http_server *server = START();

    for (unsigned n = 100; n < 300; n++) {
        static char request[32 * 1024];
        autoclose int fd = dial(server);
        int size = snprintf(request, sizeof(request), "GET /x HTTP/1.1\r\nHost: x\r\n");
        const char *answer;
        int before = calls;

        for (unsigned i = 0; i < n; i++)
            size += snprintf(request + size, sizeof(request) - (size_t)size, "Cookie: a=1\r\n");
        snprintf(request + size, sizeof(request) - (size_t)size, "Connection: close\r\n\r\n");
        send_text(fd, request);
        answer = receive_to_the_end(fd);
        ck_assert_msg(heads_in(answer) == 1, "%u fields:\n%s", n, answer);
        ck_assert_msg(strstr(answer, " 200 ") || strstr(answer, " 400 ") || calls == before,
                      "%u fields:\n%s", n, answer);
    }
    http_server_stop(server, 0);
}
END_TEST

START_TEST(endless_headers_are_refused) {
    struct http_server *server = START();
    autoclose int fd = dial(server);
    autoclose int other = dial(server);
    char line[64];
    bool refused = false;

    send_text(fd, "GET / HTTP/1.1\r\nHost: x\r\n");
    for (int i = 0; i < 10000 && !refused; i++) {
        snprintf(line, sizeof(line), "X-Header-%d: %d\r\n", i, i);
        refused = send(fd, line, strlen(line), MSG_NOSIGNAL) < 0;
    }
    if (!refused)
        refused = strstr(receive_to_the_end(fd), " 200 ") == NULL;
    ck_assert(refused);
    ck_assert_int_eq(calls, 0);
    send_text(other, GET("/other"));
    assert_has(receive(other), "|/other|");
    http_server_stop(server, 0);
}
END_TEST

START_TEST(malformed_requests_are_refused) {
    static const char *const garbage[] = {
        "\x16\x03\x01\x02",
        "GET\r\n\r\n",
        "GET /\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "GET / HTTP/1.1\r\nno colon\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    };
    struct http_server *server = START(.idle_seconds = 1);
    int fds[LENGTH(garbage)];

    for (size_t i = 0; i < LENGTH(garbage); i++) {
        fds[i] = dial(server);
        send_text(fds[i], garbage[i]);
    }
    for (size_t i = 0; i < LENGTH(garbage); i++) {
        assert_lacks(receive_to_the_end(fds[i]), " 200 ");
        close(fds[i]);
    }
    ck_assert_int_eq(calls, 0);
    http_server_stop(server, 0);
}
END_TEST

/* libmicrohttpd answers these itself: the bytes behind them are no request. */
START_TEST(an_invalid_length_ends_the_connection) {
    static const char *const lengths[] = { "x",   "-1",  "+5",
                                           "0x5", "5 5", "5,5",
                                           "5;",  "",    "99999999999999999999999" };
    struct http_server *server = START();
    char request[200];

    for (size_t i = 0; i < LENGTH(lengths); i++) {
        autoclose int fd = dial(server);
        const char *answer;

        snprintf(request, sizeof(request),
                 "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %s\r\n\r\n" GET("/smuggled"),
                 lengths[i]);
        send_text(fd, request);
        answer = receive_to_the_end(fd);
        ck_assert_msg(strncmp(answer, "HTTP/1.1 400 ", 13) == 0, "%s: %s", lengths[i], answer);
        ck_assert_msg(!strstr(answer + 1, "HTTP/1.1 "), "%s: %s", lengths[i], answer);
        assert_has(answer, "The Content-Length is malformed");
    }
    ck_assert_int_eq(calls, 0);
    http_server_stop(server, 0);
}
END_TEST

/* libmicrohttpd refuses such requests itself, and cannot while it is being stopped. */
START_TEST(a_refusal_during_shutdown_is_no_fault) {
    enum { ROUNDS = 20, CLIENTS = 40 };

    for (int round = 0; round < ROUNDS; round++) {
        struct http_server *server = START();
        int fds[CLIENTS];

        for (int i = 0; i < CLIENTS; i++) {
            fds[i] = dial(server);
            send_text(fds[i], GET("/"));
        }
        for (int i = 0; i < CLIENTS; i++)
            receive(fds[i]);
        for (int i = 0; i < CLIENTS; i++)
            send_text(fds[i], i % 2 ? "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n"
                                    : "GET / HTTP/9.9\r\n\r\n");
        http_server_stop(server, 0);
        for (int i = 0; i < CLIENTS; i++)
            close(fds[i]);
    }
}
END_TEST

/* Heads in the midst of which others are, of one thread, and answers before: each gets its own. */
START_TEST(a_malformed_length_is_answered_to_its_sender) {
    struct http_server *server = START(.threads = 1);
    autoclose int before = dial(server);
    autoclose int bad = dial(server);
    autoclose int after = dial(server);
    const char *pieces[] = { "POST / HTTP/1.1\r\nHo", "st: x\r\nContent-Length: x", "\r\n\r\n" };
    const char *answer;

    send_text(before, GET("/x"));
    assert_has(receive(before), " 200 ");
    send_text(bad, GET("/x"));
    assert_has(receive(bad), " 200 ");
    send_text(before, "GET /x HTTP/1.1\r\nContent-Length: 0");
    send_text(after, "GET /x HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n");
    for (size_t i = 0; i < LENGTH(pieces); i++)
        send_text(bad, pieces[i]);
    answer = receive_to_the_end(bad);
    ck_assert_msg(strncmp(answer, "HTTP/1.1 400 ", 13) == 0, "%s", answer);
    ck_assert_msg(!strstr(answer + 1, "HTTP/1.1 "), "%s", answer);
    send_text(before, "\r\nHost: x\r\n\r\n");
    assert_has(receive(before), " 200 ");
    send_text(after, "\r\n");
    assert_has(receive(after), " 200 ");
    http_server_stop(server, 0);
}
END_TEST

/* All that libmicrohttpd would let through, each in the middle and at the end of a head. */
START_TEST(an_ambiguous_head_is_refused) {
    static const struct {
        const char *head;
        size_t size;
    } heads[] = {
#define HEAD(text) { text "\r\n\r\n", sizeof(text) + 3 }
#define LINE(text) \
    HEAD("POST / HTTP/1.1\r\nHost: x\r\n" text), HEAD("POST / HTTP/1.1\r\n" text "\r\nHost: x")
        LINE("Content-Length: 1\r\nContent-Length: 2"),
        LINE("Content-Length: 2\r\nContent-Length: 2"),
        LINE("Content-Length: 5\r\nTransfer-Encoding: chunked"),
        LINE("Transfer-Encoding: chunked\r\nContent-Length: 5"),
        LINE("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"),
        LINE("Transfer-Encoding: identity"),
        LINE("Transfer-Encoding: gzip, chunked"),
        LINE("Transfer-Encoding: chunked "),
        LINE("Transfer-Encoding:"),
        LINE("Content-Length : 5"),
        LINE("Content-Length\t: 5"),
        LINE(" Content-Length: 5"),
        LINE("Content-Leng: 5\r\n th"),
        LINE("X-Folded: a\r\n b"),
        LINE("X-Folded: a\r\n\tb"),
        LINE("X-Lone: a\rTransfer-Encoding: chunked"),
        LINE("X-Lone: a\r\r"),
        LINE("X-Lone: a\nX-B: b"),
        LINE("X-Nul: a\0b"),
        LINE("X-Nul: a\0\0\0\0b"),
        LINE("X-Nul: a\0"),
        LINE("X-N\0ul: a"),
        LINE("\0X-Nul: a"),
        LINE("\0\0X-Nul: a"),
        LINE("X-Control: a\x01"),
        LINE("X(Name): a"),
        LINE(": a"),
        LINE("Host: y"),
        HEAD("POST / HTTP/1.1"),
        HEAD("POST / HTTP/1.1\nHost: x"),
        HEAD("POST /a b HTTP/1.1\r\nHost: x"),
        HEAD("POST  / HTTP/1.1\r\nHost: x"),
        HEAD("POST /\0 HTTP/1.1\r\nHost: x"),
        HEAD("POST /\0?a HTTP/1.1\r\nHost: x"),
        HEAD("POST /\x01 HTTP/1.1\r\nHost: x"),
        HEAD("PO\0ST / HTTP/1.1\r\nHost: x"),
        HEAD("PO(T / HTTP/1.1\r\nHost: x"),
        HEAD("POST / HTTP/1.0\r\nTransfer-Encoding: chunked"),
        { "POST / HTTP/1.1\r\nHost: x\r\n\n", 28 },
        { "POST / HTTP/1.1\r\nHost: x\n\r\n", 28 },
    };
    struct http_server *server = START();

    for (size_t i = 0; i < LENGTH(heads); i++) {
        autoclose int fd = dial(server);
        const char *answer;

        ck_assert_int_eq(send(fd, heads[i].head, heads[i].size, MSG_NOSIGNAL),
                         (ssize_t)heads[i].size);
        send_text(fd, GET("/smuggled"));
        answer = receive_to_the_end(fd);
        ck_assert_msg(strncmp(answer, "HTTP/1.1 400 ", 13) == 0, "%zu %s:\n%s", i, heads[i].head,
                      answer);
        ck_assert_msg(!strstr(answer + 1, "HTTP/1.1 "), "%zu %s:\n%s", i, heads[i].head, answer);
    }
    ck_assert_int_eq(calls, 0);
    http_server_stop(server, 0);
}
END_TEST

/* The second value is empty, the same or another, in other letters and behind other fields. */
START_TEST(a_field_with_one_value_is_refused_when_it_comes_twice) {
    static const char *const names[] = { "Content-Length",
                                         "Content-Type",
                                         "Host",
                                         "OpenStack-API-Version",
                                         "Origin",
                                         "Sec-Fetch-Site",
                                         "X-Auth-Key",
                                         "X-Auth-Project-Id",
                                         "X-Auth-Token",
                                         "X-Auth-User",
                                         "X-OpenStack-Nova-API-Version",
                                         "X-OpenStack-Request-ID",
                                         "X-Scoria-Alone",
                                         "X-Scoria-Extend",
                                         "X-Scoria-Instance",
                                         "X-Scoria-Retry",
                                         "X-Scoria-Room",
                                         "X-Scoria-Unique",
                                         "X-Scoria-Volume-Limit",
                                         "X-Service-Roles",
                                         "X-Service-Token",
                                         "X-Storage-Token" };
    static const char *const seconds[] = { "0", "1", "" };
    struct http_server *server = START();

    for (size_t i = 0; i < LENGTH(names) * LENGTH(seconds); i++) {
        const char *name = names[i / LENGTH(seconds)];
        autoclose int fd = dial(server);
        char head[400], lower[40] = "";
        const char *answer;

        for (size_t j = 0; name[j]; j++)
            lower[j] = (char)tolower((unsigned char)name[j]);
        snprintf(head, sizeof(head), "GET / HTTP/1.1\r\n%s%s: 0\r\nX-Other: x\r\n%s: %s\r\n\r\n",
                 strcmp(name, "Host") == 0 ? "" : "Host: x\r\n", name, lower,
                 seconds[i % LENGTH(seconds)]);
        send_text(fd, head);
        send_text(fd, GET("/smuggled"));
        answer = receive_to_the_end(fd);
        ck_assert_msg(strncmp(answer, "HTTP/1.1 400 ", 13) == 0, "%s:\n%s", head, answer);
        ck_assert_msg(!strstr(answer + 1, "HTTP/1.1 "), "%s:\n%s", head, answer);
    }
    ck_assert_int_eq(calls, 0);
    http_server_stop(server, 0);
}
END_TEST

START_TEST(head_that_is_merely_unusual_is_taken) {
    static const char *const heads[] = {
        "GET /x HTTP/1.1\r\nHost:x\r\nX-Empty:\r\nX-Probe: \t p\r\n\r\n",
        "GET /x HTTP/1.1\r\nHost:\r\nX-Probe: p\r\nX-Blank:  \r\nX-Tail: a \t\r\n\r\n",
        "\r\nGET /x?a=b HTTP/1.1\r\nhOST: x\r\nX-Probe: p\r\nCookie: a=b; c=d\r\n\r\n",
        "GET /x HTTP/1.0\r\nX-Probe: p\r\nConnection: keep-alive\r\n\r\n",
        "GET /x HTTP/1.1\r\nHost: x\r\nVia: a\r\nVia: b\r\nAccept: a\r\nAccept: b\r\nX-Probe: p\r\n\r\n",
        "GET /x HTTP/1.1\r\nHost: x\r\nX-Probe: p\r\nX-High: \xc3\xa9\r\n\r\n",
        "GET /x HTTP/1.1\r\nHost: x\r\nX-Probe: p\r\nX-!#$%&'*+-.^_`|~: \"(),/:;<=>?@[\\]{}\r\n\r\n",
    };
    struct http_server *server = START();
    autoclose int fd = dial(server);

    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < LENGTH(heads); i++) {
            for (const char *at = heads[i]; *at; at++) /* in pieces, too */
                if (round == 0)
                    ck_assert_int_eq(send(fd, at, 1, MSG_NOSIGNAL), 1);
            if (round == 1)
                send_text(fd, heads[i]);
            assert_has(receive(fd), "|p|0|0|");
        }
    http_server_stop(server, 0);
}
END_TEST

START_TEST(an_idle_client_is_disconnected) {
    struct http_server *server = START(.idle_seconds = 1);
    autoclose int header = dial(server);
    autoclose int body = dial(server);
    struct http_exchange *exchange = NULL;
    int patient = -1;

    send_text(header, "GET / HTTP/1.1\r\nHos");
    send_text(body, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n01234");
    while (!exchange) { /* cut, when we slept before its request */
        if (patient >= 0)
            close(patient);
        patient = dial(server);
        send_text(patient, GET("/keep/long"));
        exchange = take_kept_from(patient);
    }
    ck_assert(is_closed(header));
    ck_assert(is_closed(body));
    ck_assert_int_eq(calls, 0);

    /* A client that waits for a response is not idle. */
    echo((void *)(uintptr_t) "late", exchange);
    assert_has(receive(patient), "late|GET|/long|");
    close(patient);
    http_server_stop(server, 0);
}
END_TEST

/* How many bytes a client can send, each a while after the other, before it is cut. */
static int drip(const struct http_server *server) {
    autoclose int fd = dial(server);
    int sent = 0;

    send_text(fd, "GET / HTTP/1.1\r\nHost: ");
    while (sent < 200 && send(fd, "x", 1, MSG_NOSIGNAL) == 1) {
        struct pollfd socket = { .fd = fd, .events = POLLIN };

        if (poll(&socket, 1, 200) > 0)
            break;
        sent++;
    }
    return sent;
}

START_TEST(a_client_that_sends_too_slowly_is_disconnected) {
    struct http_server *server = START(.idle_seconds = 1, .request_seconds = 2);
    int sent = 0;

    for (int i = 0; i < 5 && sent <= 5; i++) /* so few: for a second we were idle ourselves */
        sent = drip(server);
    ck_assert_int_lt(sent, 200);
    ck_assert_int_gt(sent, 5);
    ck_assert_int_eq(calls, 0);
    http_server_stop(server, 0);
}
END_TEST

/* The number of the next descriptor: as long as it is the same, none was lost. */
static int next_fd(void) {
    int fd = dup(0);

    close(fd);
    return fd;
}

static void send_request(int fd, const char *path, const char *part) {
    char request[64];

    snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);
    send_text(fd, request);
    assert_has(receive(fd), part);
}

START_TEST(the_idlest_client_is_evicted_for_the_newest) {
    struct http_server *server = START(.connections = 2, .threads = 1);
    autoclose int first = dial(server);
    autoclose int second = dial(server);
    autoclose int third = -1;

    send_request(first, "/1", "|/1|");
    send_request(second, "/2", "|/2|");
    send_request(first, "/1", "|/1|");
    third = dial(server);
    send_request(third, "/3", "|/3|");
    ck_assert(is_closed(second));
    send_request(first, "/1", "|/1|");
    http_server_stop(server, 0);
}
END_TEST

START_TEST(clients_without_a_request_are_evicted_first) {
    enum { PLACES = 16 };
    struct http_server *server = START(.connections = PLACES, .threads = 1);
    autoclose int answered = dial(server);
    int silent[PLACES * 3];

    send_request(answered, "/1", "|/1|");
    for (size_t i = 0; i < LENGTH(silent); i++) {
        silent[i] = dial(server);
        if (i % 2)
            send_text(silent[i], "GET / HTTP/1.1\r\nHost: ");
    }
    for (int i = 0; i < 10; i++) {
        autoclose int newest = dial(server);

        send_request(newest, "/new", "|/new|");
    }
    send_request(answered, "/1", "|/1|");
    for (size_t i = 0; i < LENGTH(silent); i++) {
        if (i < PLACES)
            ck_assert(is_closed(silent[i]));
        close(silent[i]);
    }
    http_server_stop(server, 0);
}
END_TEST

START_TEST(clients_waiting_for_a_response_stay_and_excess_clients_get_503) {
    struct http_server *server = START(.connections = 2, .threads = 1);
    autoclose int first = dial(server), second = dial(server), third = -1, fourth = -1;
    struct http_exchange *kept[2];

    send_text(first, GET("/keep/1"));
    kept[0] = take_kept();
    send_text(second, GET("/keep/2"));
    kept[1] = take_kept();
    third = dial(server);
    send_request(third, "/3", "HTTP/1.1 503 ");
    ck_assert(is_closed(third));
    fourth = dial(server);
    send_request(fourth, "/healthcheck", "|/healthcheck|");
    for (int i = 0; i < 200; i++) /* idle ones beside the rest harm no other client either */
        close(dial(server));
    echo((void *)(uintptr_t) "late", kept[0]);
    assert_has(receive(first), "late|GET|/1|");
    close(third);
    third = dial(server);
    send_request(third, "/3", "|/3|");
    echo((void *)(uintptr_t) "late", kept[1]);
    assert_has(receive(second), "late|GET|/2|");
    http_server_stop(server, 0);
}
END_TEST

START_TEST(one_address_may_have_a_lower_limit) {
    struct http_server *server =
        START(.address = "127.0.0.1", .address_connections = 2, .threads = 1);
    autoclose int first = dial(server), second = dial(server), third = -1, other = -1;

    send_request(first, "/1", "|/1|");
    send_request(second, "/2", "|/2|");
    other = dial_from(server, "127.0.0.2");
    send_request(other, "/other", "|/other|");
    third = dial(server);
    send_request(third, "/3", "|/3|");
    ck_assert(is_closed(first));
    send_request(second, "/2", "|/2|");
    send_request(other, "/other", "|/other|");
    http_server_stop(server, 0);
}
END_TEST

START_TEST(descriptors_are_reserved) {
    struct http_server *server;
    struct rlimit before, limit;
    int fds[64];

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    limit = before;
    limit.rlim_cur = 256 + 64 + 20; /* of which clients get 20 */
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    server = START(.connections = 1000, .threads = 1);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    for (size_t i = 0; i < LENGTH(fds); i++) {
        fds[i] = dial(server);
        send_request(fds[i], "/", "|/|");
    }
    for (size_t i = 0; i < LENGTH(fds); i++) {
        if (i < LENGTH(fds) - 20)
            ck_assert(is_closed(fds[i]));
        else
            send_request(fds[i], "/", "|/|");
        close(fds[i]);
    }
    http_server_stop(server, 0);
}
END_TEST

START_TEST(a_client_without_a_free_descriptor_waits) {
    struct http_server *server = START();
    autoclose int first = dial(server);
    struct rlimit before, limit;
    struct pollfd waits = { .events = POLLIN };
    autoclose int second = -1;

    send_text(first, GET("/1"));
    assert_has(receive(first), "|/1|");
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    limit = before;
    limit.rlim_cur = (rlim_t)next_fd() + 1; /* enough for the client's side only */
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    waits.fd = second = dial(server);
    send_text(second, GET("/2"));
    ck_assert_int_eq(poll(&waits, 1, 50), 0);
    send_text(first, GET("/3"));
    assert_has(receive(first), "|/3|");
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_has(receive(second), "|/2|");
    http_server_stop(server, 0);
}
END_TEST

START_TEST(client_that_leaves_while_it_waits_harms_nothing) {
    struct http_server *server = START();
    struct linger reset = { .l_onoff = 1 };
    autoclose int other = dial(server);

    for (int i = 0; i < 2; i++) {
        int fd = dial(server);
        struct http_exchange *exchange;

        send_text(fd, GET("/keep"));
        exchange = take_kept();
        if (i == 0)
            setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
        close(fd);
        ck_assert_ptr_null(http_header(exchange, "X-Probe"));
        ck_assert_str_eq(http_header(exchange, "host"), "x");
        echo((void *)(uintptr_t) "late", exchange);
    }
    send_text(other, GET("/other"));
    assert_has(receive(other), "|/other|");
    http_server_stop(server, 1000);
}
END_TEST

/* ---- replies from other threads ---- */

static void *request_often(void *arg) {
    const struct http_server *server = arg;
    autoclose int fd = dial(server);

    for (int i = 0; i < 200; i++) {
        if (i % 4 == 0) {
            send_text(fd, GET("/1") GET("/race/2"));
            assert_has(receive(fd), "|/1|");
            assert_has(receive(fd), "|/2|");
        } else {
            send_text(fd, "POST /race/x HTTP/1.1\r\nHost: x\r\nX-Probe: p\r\n"
                          "Content-Length: 2\r\n\r\nok");
            assert_has(receive(fd), "thread|POST|/x||127.0.0.1|p|2|0|ok");
        }
    }
    return NULL;
}

START_TEST(reply_may_come_at_any_moment_from_any_thread) {
    struct http_server *server = START();
    pthread_t threads[4];

    for (size_t i = 0; i < LENGTH(threads); i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, request_often, server), 0);
    for (size_t i = 0; i < LENGTH(threads); i++)
        pthread_join(threads[i], NULL);
    ck_assert_int_eq(calls, 4 * 250);
    http_server_stop(server, 0);
}
END_TEST

/* ---- stop ---- */

static void *stop_slowly(void *server) {
    http_server_stop(server, 20000);
    return NULL;
}

START_TEST(stop_waits_for_open_exchanges_and_takes_no_new_clients) {
    struct http_server *server = START();
    unsigned port = http_server_port(server);
    autoclose int fd = dial(server);
    struct http_exchange *exchange;
    pthread_t thread;
    const char *answer;
    int refused;

    send_text(fd, GET("/keep/open"));
    exchange = take_kept();
    ck_assert_int_eq(pthread_create(&thread, NULL, stop_slowly, server), 0);
    while ((refused = try_dial(port)) >= 0)
        close(refused);
    echo((void *)(uintptr_t) "drained", exchange);
    answer = receive(fd);
    assert_has(answer, "drained|GET|/open|");
    assert_has(answer, "Connection: close");
    ck_assert(is_closed(fd));
    pthread_join(thread, NULL);
}
END_TEST

START_TEST(a_stop_abandons_exchanges_that_stay_open) {
    struct http_server *server = START();
    autoclose int fd = dial(server);
    struct http_exchange *exchange;

    send_text(fd, GET("/keep/open"));
    exchange = take_kept();
    http_server_stop(server, 10);
    assert_has(receive(fd), "HTTP/1.1 503 ");
    ck_assert(is_closed(fd));

    /* The exchange is alive until its reply, which goes nowhere. */
    ck_assert_str_eq(exchange->path, "/open");
    ck_assert_ptr_null(http_header(exchange, "host"));
    echo((void *)(uintptr_t) "too late", exchange);
}
END_TEST

static atomic_bool asking;

static void *request_until_stopped(void *arg) {
    unsigned port = *(const unsigned *)arg;

    while (asking) {
        autoclose int fd = try_dial(port);

        if (fd >= 0 && send(fd, GET("/race"), sizeof(GET("/race")) - 1, MSG_NOSIGNAL) > 0)
            receive(fd);
    }
    return NULL;
}

START_TEST(stop_in_the_midst_of_work_is_clean) {
    for (int round = 0; round < 10; round++) {
        struct http_server *server = START();
        unsigned port = http_server_port(server);
        int64_t end = clock_monotonic_us() + 20000;
        pthread_t threads[3];

        asking = true;
        for (size_t i = 0; i < LENGTH(threads); i++)
            ck_assert_int_eq(pthread_create(&threads[i], NULL, request_until_stopped, &port), 0);
        while (clock_monotonic_us() < end)
            sched_yield();
        http_server_stop(server, 0);
        asking = false;
        for (size_t i = 0; i < LENGTH(threads); i++)
            pthread_join(threads[i], NULL);
    }
}
END_TEST

START_TEST(stop_of_nothing_does_nothing) {
    http_server_stop(NULL, 0);
}
END_TEST

/* ---- start ---- */

static void assert_no_start(const char *address, unsigned port, const char *reason) {
    struct http_server_settings settings = { .address = address, .port = port, .mounts = mounts };
    struct http_server *server = NULL;
    struct error err = { 0 };

    ck_assert_int_eq(http_server_start(&settings, &server, &err), -1);
    ck_assert_ptr_null(server);
    assert_has(err.message, reason);
    assert_has(err.message, address);
}

START_TEST(address_that_cannot_be_had_is_named) {
    struct http_server *server = START();
    char taken[64];

    snprintf(taken, sizeof(taken), "port %u: Address already in use", http_server_port(server));
    assert_no_start("127.0.0.1", http_server_port(server), taken);
    assert_no_start("192.0.2.1", 0, "Cannot assign requested address");
    assert_no_start("not an address", 80, "port 80: ");
    assert_no_start("127.0.0.1", 65536, "65536 is not a port");
    http_server_stop(server, 0);
}
END_TEST

static void start_without_descriptors(unsigned threads) {
    struct http_server_settings settings = { .address = "127.0.0.1",
                                             .threads = threads,
                                             .mounts = mounts };
    int next = next_fd(), failed = 0;

    for (int more = 0; more < 20; more++) {
        struct rlimit before, limit;
        struct http_server *server = NULL;
        struct error err = { 0 };

        ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
        limit = before;
        limit.rlim_cur = (rlim_t)(next + more);
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
        if (http_server_start(&settings, &server, &err) < 0) {
            failed++;
            ck_assert_ptr_null(server);
            ck_assert_str_ne(err.message, "");
        }
        http_server_stop(server, 0);
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
        ck_assert_int_eq(next_fd(), next);
    }
    ck_assert_int_gt(failed, 2);
    ck_assert_int_lt(failed, 20);
}

START_TEST(start_without_descriptors_fails_and_loses_none) {
    start_without_descriptors(1);
    start_without_descriptors(2);
}
END_TEST

START_TEST(loopback_is_judged_by_addresses) {
    static const char *const here[] = { "127.0.0.1", "127.8.9.10", "127.1",           "::1",
                                        "[::1]",     "localhost",  "::ffff:127.0.0.1" };
    static const char *const everywhere[] = { "0.0.0.0",         "::",     "10.0.0.1", "128.0.0.1",
                                              "::ffff:10.0.0.1", "fe80::1" };

    for (size_t i = 0; i < LENGTH(here); i++)
        ck_assert_msg(listen_is_loopback(here[i]), "%s", here[i]);
    for (size_t i = 0; i < LENGTH(everywhere); i++)
        ck_assert_msg(!listen_is_loopback(everywhere[i]), "%s", everywhere[i]);
}
END_TEST

START_TEST(ipv6_literals_are_taken) {
    static const char *const addresses[] = { "::1", "[::1]" };
    autoclose int probe = socket(AF_INET6, SOCK_STREAM, 0);
    struct sockaddr_in6 loopback = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };

    if (probe < 0 || bind(probe, (struct sockaddr *)&loopback, sizeof(loopback)) < 0)
        return; /* a machine without IPv6 */
    for (size_t i = 0; i < LENGTH(addresses); i++) {
        struct http_server *server = START(.address = addresses[i]);
        autoclose int fd = socket(AF_INET6, SOCK_STREAM, 0);

        loopback.sin6_port = htons((uint16_t)http_server_port(server));
        ck_assert_int_eq(connect(fd, (struct sockaddr *)&loopback, sizeof(loopback)), 0);
        send_text(fd, GET("/six"));
        assert_has(receive(fd), "|/six||::1|");
        http_server_stop(server, 0);
    }
}
END_TEST

START_TEST(a_client_is_named_by_its_address) {
    static const char *const addresses[] = { "127.0.0.1", "127.9.10.99", "127.100.209.255" };
    struct http_server *server = START();

    for (size_t i = 0; i < LENGTH(addresses); i++) {
        autoclose int fd = dial_from(server, addresses[i]);
        char part[64];

        send_text(fd, GET("/x"));
        snprintf(part, sizeof(part), "|/x||%s|", addresses[i]);
        assert_has(receive(fd), part);
    }
    http_server_stop(server, 0);
}
END_TEST

START_TEST(ipv4_client_of_an_ipv6_socket_is_named_by_its_own_address) {
    struct error err;
    struct http_server_settings settings = { .address = "::", .mounts = mounts };
    struct http_server *server = NULL;

    if (http_server_start(&settings, &server, &err) < 0)
        return; /* a machine without IPv6 */
    autoclose int fd = dial(server);

    send_text(fd, GET("/four"));
    assert_has(receive(fd), "|/four||127.0.0.1|");
    http_server_stop(server, 0);
}
END_TEST

/* ---- encoding ---- */

#define PLAIN "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"

START_TEST(percent_decoding_refuses_invalid_text) {
    static const struct {
        const char *text;
        bool form;
        const char *decoded;
    } cases[] = {
        { "", false, "" },
        { "a%20b+c", false, "a b+c" },
        { "a%20b+c", true, "a b c" },
        { "%c3%A9", false, "\xc3\xa9" },
        { "%2", false, NULL },
        { "%", false, NULL },
        { "%zz", false, NULL },
        { "%2G", false, NULL },
        { "%00", false, NULL },
        { "%ff", false, NULL },
        { "%c0%80", false, NULL },
    };
    autoarena struct arena *arena = arena_new();

    for (size_t i = 0; i < LENGTH(cases); i++)
        ck_assert_pstr_eq(http_decode(arena, cases[i].text, strlen(cases[i].text), cases[i].form),
                          cases[i].decoded);
    ck_assert_ptr_null(http_decode(arena, "a\0b", 3, false));
    ck_assert_str_eq(http_decode(arena, "abcdef", 3, false), "abc");
}
END_TEST

/* Bytes that mean something in a URL, and those that are no ASCII, never come through. */
START_TEST(percent_encoding_keeps_plain_characters) {
    autoarena struct arena *arena = arena_new();
    char text[256];

    for (unsigned i = 0; i < 127; i++)
        text[i] = (char)(i + 1);
    strcpy(text + 127, "\xc3\xa9");
    const char *encoded = http_encode(arena, text);

    ck_assert_uint_eq(strspn(encoded, PLAIN "%"), strlen(encoded));
    ck_assert_str_eq(http_decode(arena, encoded, strlen(encoded), true), text);
    ck_assert_str_eq(http_encode(arena, PLAIN), PLAIN);
    ck_assert_str_eq(http_encode(arena, "0123-abc-xyz-789"), "0123-abc-xyz-789");
    ck_assert_str_eq(http_encode(arena, "a b&c"), "a%20b%26c");
    ck_assert_str_eq(http_encode(arena, ""), "");
}
END_TEST

CHECK_MAIN("http_server", no_request_is_executed_without_a_response,
           a_head_with_too_many_cookies_is_refused_by_one_response,
           connection_serves_one_request_after_the_other, pipelined_requests_are_answered_in_order,
           requests_of_different_connections_share_the_memory_of_their_thread,
           half_closed_client_gets_its_answer,
           a_client_that_closes_its_side_is_seen_while_its_answer_is_awaited,
           an_abandoned_exchange_has_no_client, longest_mount_wins_and_its_prefix_is_cut,
           path_below_no_mount_is_not_found, head_has_the_length_and_no_body,
           a_large_text_is_sent_whole, line_breaks_in_a_reply_header_forge_nothing,
           body_is_whole_before_the_handler_is_called, body_above_the_limit_is_dropped_and_answered,
           body_far_above_the_limit_is_not_read, a_query_of_many_parameters_arrives,
           a_head_of_sixteen_kilobytes_is_taken_and_a_longer_one_refused,
           endless_headers_are_refused, malformed_requests_are_refused,
           an_invalid_length_ends_the_connection, a_refusal_during_shutdown_is_no_fault,
           a_malformed_length_is_answered_to_its_sender, an_ambiguous_head_is_refused,
           a_field_with_one_value_is_refused_when_it_comes_twice,
           head_that_is_merely_unusual_is_taken, an_idle_client_is_disconnected,
           a_client_that_sends_too_slowly_is_disconnected,
           the_idlest_client_is_evicted_for_the_newest, clients_without_a_request_are_evicted_first,
           clients_waiting_for_a_response_stay_and_excess_clients_get_503,
           one_address_may_have_a_lower_limit, descriptors_are_reserved,
           a_client_without_a_free_descriptor_waits,
           client_that_leaves_while_it_waits_harms_nothing,
           reply_may_come_at_any_moment_from_any_thread,
           stop_waits_for_open_exchanges_and_takes_no_new_clients,
           a_stop_abandons_exchanges_that_stay_open, stop_in_the_midst_of_work_is_clean,
           stop_of_nothing_does_nothing, address_that_cannot_be_had_is_named,
           start_without_descriptors_fails_and_loses_none, ipv6_literals_are_taken,
           loopback_is_judged_by_addresses, a_client_is_named_by_its_address,
           ipv4_client_of_an_ipv6_socket_is_named_by_its_own_address,
           percent_decoding_refuses_invalid_text, percent_encoding_keeps_plain_characters)
