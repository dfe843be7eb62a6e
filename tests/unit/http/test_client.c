#include "http/client.h"

#include "common/clock.h"
#include "http/listen.h"
#include "tests/lib/check_main.h"

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* ---- a peer controlled by the test ---- */

struct peer {
    int fd;
    pthread_t thread;
    const char *answer; /* NULL: closes without a byte */
    size_t filler;      /* bytes of 'x' behind the answer */
    unsigned answers;   /* on each connection before it is closed */
    atomic_bool ends;
    atomic_uint connections;
    char received[4096]; /* the last request */
};

static bool wait_for(const struct peer *peer, int fd) {
    struct pollfd polled = { .fd = fd, .events = POLLIN };

    while (!peer->ends) {
        if (poll(&polled, 1, 10) > 0)
            return true;
    }
    return false;
}

/* Up to the end of the headers and the body that they announce. */
static bool receive(struct peer *peer, int fd) {
    char text[sizeof(peer->received)] = "";
    size_t size = 0;

    for (;;) {
        const char *end = strstr(text, "\r\n\r\n"), *length = strstr(text, "Content-Length: ");
        ssize_t got;

        if (end && size >= (size_t)(end - text) + 4 + (length ? (size_t)atoi(length + 16) : 0))
            break;
        if (!wait_for(peer, fd))
            return false;
        got = recv(fd, text + size, sizeof(text) - 1 - size, 0);
        if (got <= 0)
            return false;
        size += (size_t)got;
    }
    memcpy(peer->received, text, sizeof(text));
    return true;
}

static void answer(struct peer *peer, int fd) {
    char filler[65536];

    if (!peer->answer)
        return;
    memset(filler, 'x', sizeof(filler));
    send(fd, peer->answer, strlen(peer->answer), MSG_NOSIGNAL);
    for (size_t left = peer->filler; left > 0;) {
        ssize_t sent =
            send(fd, filler, left < sizeof(filler) ? left : sizeof(filler), MSG_NOSIGNAL);

        if (sent <= 0)
            return;
        left -= (size_t)sent;
    }
}

static void *serve(void *arg) {
    struct peer *peer = arg;

    while (wait_for(peer, peer->fd)) {
        autoclose int fd = accept(peer->fd, NULL, NULL);

        peer->connections++;
        for (unsigned i = 0; i < peer->answers && receive(peer, fd); i++)
            answer(peer, fd);
    }
    return NULL;
}

static void peer_start(struct peer *peer) {
    struct error err = { 0 };

    peer->fd = listen_open("127.0.0.1", 0, &err);
    ck_assert_msg(peer->fd >= 0, "%s", err.message);
    if (!peer->answers)
        peer->answers = 1;
    ck_assert_int_eq(pthread_create(&peer->thread, NULL, serve, peer), 0);
}

static void peer_stop(struct peer *peer) {
    peer->ends = true;
    pthread_join(peer->thread, NULL);
    close(peer->fd);
}

/* ---- calls ---- */

static struct arena *arena;
static struct http_answer got;
static struct error err;

static int call_url(const char *url, struct http_call call) {
    setenv("no_proxy", "*", 1);
    if (!arena)
        arena = arena_new();
    got = (struct http_answer){ .status = -7 };
    err = (struct error){ 0 };
    call.url = url;
    if (!call.method)
        call.method = "GET";
    return http_call(arena, &call, &got, &err);
}

static int call_peer(const struct peer *peer, const char *path, struct http_call call) {
    char url[256];

    snprintf(url, sizeof(url), "http://127.0.0.1:%u%s", listen_port(peer->fd), path);
    return call_url(url, call);
}
#define CALL(peer, path, ...) call_peer(peer, path, (struct http_call){ __VA_ARGS__ })

static void assert_has(const char *text, const char *part) {
    ck_assert_msg(strstr(text, part) != NULL, "\"%s\" is not in \"%s\"", part, text);
}

static void assert_lacks(const char *text, const char *part) {
    ck_assert_msg(strstr(text, part) == NULL, "\"%s\" is in \"%s\"", part, text);
}

static const char ok[] = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

START_TEST(answer_of_any_status_is_an_answer) {
    static const struct {
        const char *answer;
        int status;
        const char *body;
    } cases[] = {
        { ok, 200, "hello" },
        { "HTTP/1.1 204 No Content\r\n\r\n", 204, "" },
        { "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}", 404, "{}" },
        { "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", 503, "" },
        { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", 200,
          "abc" },
    };

    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct peer peer = { .answer = cases[i].answer };

        peer_start(&peer);
        ck_assert_int_eq(CALL(&peer, "/"), 0);
        ck_assert_int_eq(got.status, cases[i].status);
        ck_assert_str_eq(got.body, cases[i].body);
        ck_assert_uint_eq(got.body_size, strlen(cases[i].body));
        peer_stop(&peer);
    }
}
END_TEST

START_TEST(a_request_is_sent_as_given) {
    static const struct http_header headers[] = { { "X-Auth-Token", "secret" },
                                                  { "X-Empty", "" },
                                                  { NULL, NULL } };
    struct peer peer = { .answer = ok, .answers = 9 };

    peer_start(&peer);
    ck_assert_int_eq(
        CALL(&peer, "/a%2Fb?c=d", .method = "POST", .headers = headers, .body = "{\"a\": 1}"), 0);
    assert_has(peer.received, "POST /a%2Fb?c=d HTTP/1.1\r\n");
    assert_has(peer.received, "\r\nX-Auth-Token: secret\r\n");
    assert_has(peer.received, "\r\nX-Empty:\r\n");
    assert_has(peer.received, "\r\nContent-Type: application/json\r\n");
    assert_has(peer.received, "\r\n\r\n{\"a\": 1}");
    assert_lacks(peer.received, "Expect");

    /* Nothing of a call stays for the next one. */
    ck_assert_int_eq(CALL(&peer, "/plain"), 0);
    assert_has(peer.received, "GET /plain HTTP/1.1\r\n");
    assert_lacks(peer.received, "X-Auth-Token");
    assert_lacks(peer.received, "Content-");

    ck_assert_int_eq(CALL(&peer, "/gone", .method = "DELETE"), 0);
    assert_has(peer.received, "DELETE /gone HTTP/1.1\r\n");
    ck_assert_int_eq(CALL(&peer, "/put", .method = "PUT", .body = ""), 0);
    assert_has(peer.received, "PUT /put HTTP/1.1\r\n");
    assert_has(peer.received, "\r\nContent-Length: 0\r\n");
    ck_assert_uint_eq(peer.connections, 1);
    peer_stop(&peer);
}
END_TEST

START_TEST(head_waits_for_no_body) {
    struct peer peer = { .answer = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" };

    peer_start(&peer);
    ck_assert_int_eq(CALL(&peer, "/", .method = "HEAD"), 0);
    ck_assert_int_eq(got.status, 200);
    ck_assert_str_eq(got.body, "");
    assert_has(peer.received, "HEAD / HTTP/1.1\r\n");
    peer_stop(&peer);
}
END_TEST

START_TEST(redirect_is_not_followed) {
    struct peer peer = { .answer = "HTTP/1.1 302 Found\r\nLocation: /other\r\n"
                                   "Content-Length: 0\r\n\r\n",
                         .answers = 2 };

    peer_start(&peer);
    ck_assert_int_eq(CALL(&peer, "/first"), 0);
    ck_assert_int_eq(got.status, 302);
    assert_has(peer.received, "GET /first ");
    peer_stop(&peer);
}
END_TEST

/* Has a port without a listener, now and later. */
static int hold_port(void) {
    const struct sockaddr_in address = { .sin_family = AF_INET,
                                         .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_eq(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

START_TEST(a_request_that_reached_no_peer_was_not_sent) {
    struct peer peer = { .answer = ok };
    autoclose int held = hold_port();
    char url[64];

    snprintf(url, sizeof(url), "http://127.0.0.1:%u/", listen_port(held));
    ck_assert_int_eq(call_url(url, (struct http_call){ 0 }), HTTP_NOT_SENT);
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    assert_has(err.message, url);
    ck_assert_int_eq(got.status, -7);

    ck_assert_int_eq(call_url("http://no.such.name.invalid/", (struct http_call){ 0 }),
                     HTTP_NOT_SENT);
    ck_assert_int_eq(call_url("not a url", (struct http_call){ 0 }), HTTP_NOT_SENT);
    ck_assert_int_eq(call_url("file:///etc/passwd", (struct http_call){ 0 }), HTTP_NOT_SENT);

    /* A peer that speaks no TLS gets no request, only a greeting. */
    peer_start(&peer);
    snprintf(url, sizeof(url), "https://127.0.0.1:%u/", listen_port(peer.fd));
    ck_assert_int_eq(call_url(url, (struct http_call){ .timeout_ms = 500 }), HTTP_NOT_SENT);
    peer_stop(&peer);
    ck_assert_int_eq(got.status, -7);
}
END_TEST

START_TEST(a_request_without_a_complete_response_is_uncertain) {
    static const char *const answers[] = {
        NULL,                                              /* closed without a byte */
        "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx", /* cut off */
        "SSH-2.0-OpenSSH\r\n\r\n",
    };

    for (size_t i = 0; i < LENGTH(answers); i++) {
        struct peer peer = { .answer = answers[i] };

        peer_start(&peer);
        ck_assert_int_eq(CALL(&peer, "/", .method = "POST", .body = "{}"), HTTP_NO_ANSWER);
        ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
        ck_assert_uint_gt(strlen(err.message), strlen("POST http://127.0.0.1:1/: "));
        ck_assert_int_eq(got.status, -7);
        peer_stop(&peer);
    }
}
END_TEST

START_TEST(an_unresponsive_peer_times_out) {
    struct peer peer = { .answer = "", .answers = 2 };
    int64_t timeout_ms = 100, start_us;
    int outcome;

    peer_start(&peer);
    do { /* a time that was over before the request was sent proves nothing about the peer */
        timeout_ms *= 2;
        start_us = clock_monotonic_us();
        outcome = CALL(&peer, "/", .timeout_ms = timeout_ms);
    } while (outcome == HTTP_NOT_SENT && timeout_ms < 10000);
    ck_assert_int_eq(outcome, HTTP_NO_ANSWER);
    ck_assert_int_lt(clock_monotonic_us() - start_us, 25000000); /* unlimited, it takes 30 s */
    ck_assert_int_ge(clock_monotonic_us() - start_us, timeout_ms * 1000);
    peer_stop(&peer);
}
END_TEST

/* Does the caller pause?  The kernel shows in which system call a thread is. */
static bool is_pausing(pid_t thread) {
    char path[64], text[64] = "";
    autofile FILE *file = NULL;

    snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", (int)thread);
    file = fopen(path, "re");
    return !file || !fgets(text, sizeof(text), file) || atol(text) == SYS_clock_nanosleep;
}

static int64_t end_us; /* of the call */

static void *end_pause(void *arg) {
    while (!is_pausing(*(pid_t *)arg))
        sched_yield();
    __atomic_store_n(&end_us, clock_monotonic_us(), __ATOMIC_RELAXED);
    return NULL;
}

START_TEST(a_pause_ends_with_the_call) {
    struct peer peer = { .answer = "HTTP/1.1 503 Busy\r\nRetry-After: 3000\r\n"
                                   "Content-Length: 0\r\n\r\n" };
    pid_t self = gettid();
    pthread_t thread;
    int64_t start_us = clock_monotonic_us();

    peer_start(&peer);
    ck_assert_int_eq(pthread_create(&thread, NULL, end_pause, &self), 0);
    ck_assert_int_eq(
        CALL(&peer, "/", .timeout_ms = 3600000, .repeats = 9, .safe = true, .until_us = &end_us),
        0);
    pthread_join(thread, NULL);
    ck_assert_int_eq(got.status, 503);
    ck_assert_uint_eq(peer.connections, 1);
    ck_assert_int_lt(clock_monotonic_us() - start_us, INT64_C(180) * 1000000);
    peer_stop(&peer);
}
END_TEST

START_TEST(answer_is_bounded) {
    struct peer peer = { .answer = "HTTP/1.1 200 OK\r\n\r\n", .filler = 16 * 1024 * 1024 };

    peer_start(&peer);
    ck_assert_int_eq(CALL(&peer, "/"), 0);
    ck_assert_uint_eq(got.body_size, 16 * 1024 * 1024);
    ck_assert_uint_eq(strlen(got.body), got.body_size);
    peer.filler++;
    ck_assert_int_eq(CALL(&peer, "/"), HTTP_TOO_LARGE);
    assert_has(err.message, "larger than 16777216 bytes");
    peer_stop(&peer);
}
END_TEST

static void *call_often(void *arg) {
    for (int i = 0; i < 20; i++) {
        autoarena struct arena *own = arena_new();
        const struct http_call call = { .method = "GET", .url = arg };
        struct http_answer each;

        ck_assert_int_eq(http_call(own, &call, &each, NULL), 0);
        ck_assert_str_eq(each.body, "hello");
    }
    return NULL;
}

START_TEST(threads_call_concurrently) {
    struct peer peers[2] = { { .answer = ok, .answers = 1000 }, { .answer = ok, .answers = 1000 } };
    pthread_t threads[LENGTH(peers)];
    char urls[LENGTH(peers)][64];

    for (size_t i = 0; i < LENGTH(peers); i++) {
        peer_start(&peers[i]);
        snprintf(urls[i], sizeof(urls[i]), "http://127.0.0.1:%u/", listen_port(peers[i].fd));
        ck_assert_int_eq(pthread_create(&threads[i], NULL, call_often, urls[i]), 0);
    }
    for (size_t i = 0; i < LENGTH(peers); i++) {
        pthread_join(threads[i], NULL);
        peer_stop(&peers[i]);
        ck_assert_uint_eq(peers[i].connections, 1); /* kept by its thread */
    }
}
END_TEST

CHECK_MAIN("http_client", answer_of_any_status_is_an_answer, a_request_is_sent_as_given,
           head_waits_for_no_body, redirect_is_not_followed,
           a_request_that_reached_no_peer_was_not_sent,
           a_request_without_a_complete_response_is_uncertain, an_unresponsive_peer_times_out,
           a_pause_ends_with_the_call, answer_is_bounded, threads_call_concurrently)
