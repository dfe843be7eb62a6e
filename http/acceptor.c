#include "http/acceptor.private.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/thread.h"
#include "http/eviction.private.h"
#include "http/stream.private.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define TELL_EACH_US (INT64_C(60) * 1000 * 1000)
#define PAUSE_MS     100 /* when the system has no descriptor or memory for another client */

static void wake(const struct http_server *server) {
    eventfd_write(server->acceptor_wake, 1);
}

/* ---- admission ---- */

static bool reserve_connection(struct http_server *server) {
    bool free;

    scoped_lock(&server->lock);
    free = server->connections < server->most_connections + HTTP_SPARE_SLOTS;
    server->connections += free;
    server->arriving += free;
    server->acceptor_full = !free;
    return free;
}

void http_acceptor_one_arrived(struct http_server *server) {
    server->arriving--;
    pthread_cond_broadcast(&server->changed);
}

/* Admits clients until none waits or the limit is reached; false: the system could not accept
 * one. */
static bool admit_clients(struct http_server *server, int fd) {
    while (reserve_connection(server)) {
        struct sockaddr_storage peer;
        socklen_t size = sizeof(peer);
        int client = accept4(fd, (struct sockaddr *)&peer, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (client >= 0 &&
            MHD_add_connection(server->daemon, client, (struct sockaddr *)&peer, size) == MHD_YES)
            continue;
        pthread_mutex_lock(&server->lock); /* libmicrohttpd has closed a client that it refuses */
        server->connections--;
        http_acceptor_one_arrived(server);
        pthread_mutex_unlock(&server->lock);
        if (client < 0 && errno != EINTR && errno != ECONNABORTED)
            return errno == EAGAIN;
    }
    return true;
}

/* ---- evictions ---- */

/* Evictions already logged. */
struct logged {
    uintmax_t evicted;
    int64_t time_us;
};

static void cut_slow(struct http_server *server, struct logged *logged) {
    uintmax_t evicted;
    int64_t now_us;

    pthread_mutex_lock(&server->lock);
    http_evict_slow(server);
    evicted = server->evicted;
    pthread_mutex_unlock(&server->lock);
    now_us = clock_monotonic_us();
    if (evicted == logged->evicted || now_us - logged->time_us < TELL_EACH_US)
        return;
    log_warning(NULL, "clients evicted: too slow, or idlest at the connection limit", "clients",
                LOG_INT((intmax_t)(evicted - logged->evicted)), NULL);
    *logged = (struct logged){ evicted, now_us };
}

/* ---- the thread ---- */

static bool is_full(struct http_server *server) {
    scoped_lock(&server->lock);
    return server->acceptor_full;
}

static int ms_until(int64_t time_us) {
    int64_t left_us = time_us - clock_monotonic_us();

    return left_us > 0 ? (int)(left_us / 1000) + 1 : 0;
}

static void *keep_accepting(void *arg) {
    struct http_server *server = arg;
    const int64_t tick_us = (int64_t)server->tick_seconds * SECOND_US;
    int64_t next_us = clock_monotonic_us() + tick_us;
    autoclose int fd = server->acceptor_fd;
    struct logged logged = { .time_us = -TELL_EACH_US };
    bool able = true;

    while (!atomic_load(&server->acceptor_closes)) {
        bool listening = able && fd >= 0 && !is_full(server);
        struct pollfd events[] = { { .fd = server->acceptor_wake, .events = POLLIN },
                                   { .fd = server->hangups, .events = POLLIN },
                                   { .fd = listening ? fd : -1, .events = POLLIN } };
        int wait_ms = ms_until(next_us);
        eventfd_t count;

        poll(events, LENGTH(events), !able && wait_ms > PAUSE_MS ? PAUSE_MS : wait_ms);
        if (events[0].revents)
            eventfd_read(server->acceptor_wake, &count);
        if (fd >= 0 && atomic_load(&server->stopping)) {
            unix_socket_remove(&server->unix_socket);
            close(fd);
            fd = -1;
        }
        if (events[1].revents)
            http_streams_take_hangups(server);
        able = fd < 0 || admit_clients(server, fd);
        if (ms_until(next_us) == 0) {
            cut_slow(server, &logged);
            next_us += tick_us;
        }
    }
    return NULL;
}

int http_acceptor_open(struct http_server *server, int fd) {
    server->acceptor_wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    server->hangups = epoll_create1(EPOLL_CLOEXEC);
    if (server->acceptor_wake < 0 || server->hangups < 0)
        return errno;
    server->acceptor_fd = fd;
    return thread_start(&server->acceptor, "http-accept", keep_accepting, server);
}

void http_acceptor_shut(struct http_server *server) {
    atomic_store(&server->stopping, true);
    wake(server);
}

void http_acceptor_close(struct http_server *server) {
    atomic_store(&server->acceptor_closes, true);
    wake(server);
    pthread_join(server->acceptor, NULL);
}

void http_acceptor_one_left(struct http_server *server) {
    server->connections--;
    if (server->acceptor_full)
        wake(server);
    server->acceptor_full = false;
}
