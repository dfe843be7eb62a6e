#include "grpc/server.h"

#include "common/cleanup.h"
#include "common/thread.h"
#include "common/worker.h"
#include "grpc/server.private.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#define EVENTS_A_TURN  64
#define ACCEPTS_A_TURN 16

#define DEAF_US             (SECOND_US / 10)
#define LAST_WORDS_US       SECOND_US /* for the responses to cancelled calls */
#define DEFAULT_WORKERS     8
#define WORKERS_AHEAD       2
#define DEFAULT_PATIENCE_MS 30000

/* ---- finished calls ---- */

static struct grpc_stream *next_done(struct grpc_server *server) {
    struct grpc_stream *stream;

    scoped_lock(&server->lock);
    stream = STAILQ_FIRST(&server->done);
    if (stream)
        STAILQ_REMOVE_HEAD(&server->done, done);
    return stream;
}

/* ---- clients ---- */

/* Evicts the oldest connection without a request; active clients keep their connections, as some
 * exit when they lose them. */
static bool make_room(struct grpc_server *server) {
    struct grpc_connection *connection, *oldest = NULL;

    if (server->connection_count < server->most_connections)
        return true;
    LIST_FOREACH(connection, &server->connections, next) {
        if (!connection->called && (!oldest || connection->since_us < oldest->since_us))
            oldest = connection;
    }
    if (oldest)
        grpc_connection_close(oldest);
    return oldest != NULL;
}

static void listen_to(struct grpc_server *server, bool listens) {
    struct epoll_event event = { .events = listens ? EPOLLIN : 0, .data.ptr = &server->listener };

    server->deaf = !listens;
    epoll_ctl(server->poll, EPOLL_CTL_MOD, server->listener, &event);
}

static void accept_all(struct grpc_server *server) {
    for (unsigned i = 0; i < ACCEPTS_A_TURN; i++) {
        autoclose int fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd >= 0 && make_room(server)) {
            grpc_connection_open(server, take_fd(fd));
        } else if (fd < 0 && errno != ECONNABORTED && errno != EINTR) {
            if (errno != EAGAIN) {
                listen_to(server, false);
                grpc_server_look_at(server, clock_monotonic_us() + DEAF_US);
            }
            return;
        }
    }
}

/* ---- shutdown ---- */

typedef void connection_function(struct grpc_connection *connection);

static void for_each_connection(struct grpc_server *server, connection_function *function) {
    struct grpc_connection *connection = LIST_FIRST(&server->connections), *next;

    for (; connection; connection = next) {
        next = LIST_NEXT(connection, next);
        function(connection);
    }
}

static void cut_calls(struct grpc_connection *connection) {
    struct grpc_stream *stream;

    LIST_FOREACH(stream, &connection->streams, next) {
        grpc_stream_leave(stream);
    }
    grpc_connection_flush(connection);
}

/* ---- the loop ---- */

static void check_time(struct grpc_server *server) {
    int64_t now_us = clock_monotonic_us();
    struct grpc_connection *connection, *next;

    if (server->next_us == 0 || now_us < server->next_us)
        return;
    server->next_us = 0;
    for (connection = LIST_FIRST(&server->connections); connection; connection = next) {
        next = LIST_NEXT(connection, next);
        grpc_connection_check_time(connection, now_us);
    }
    if (server->deaf && !server->leaving)
        listen_to(server, true);
    if (!server->leaving)
        return;
    if (now_us >= server->end_us) {
        for_each_connection(server, server->cut ? grpc_connection_close : cut_calls);
        server->cut = true;
        server->end_us = now_us + LAST_WORDS_US;
    }
    grpc_server_look_at(server, server->end_us);
}

/* Connections first: the following steps may close any of them. */
static void turn(struct grpc_server *server) {
    struct epoll_event events[EVENTS_A_TURN];
    int64_t left_us = server->next_us - clock_monotonic_us();
    int wait_ms = server->next_us == 0        ? -1
                  : left_us <= 0              ? 0
                  : left_us / 1000 >= 3600000 ? 3600000
                                              : (int)(left_us / 1000 + 1);
    int count = epoll_wait(server->poll, events, EVENTS_A_TURN, wait_ms);
    bool waiting = false, woken = false;
    struct grpc_stream *stream;
    uint64_t wakes;

    for (int i = 0; i < count; i++)
        if (events[i].data.ptr == &server->listener)
            waiting = true;
        else if (events[i].data.ptr == &server->wake)
            woken = true;
        else
            grpc_connection_serve(events[i].data.ptr, events[i].events);
    while (woken && read(server->wake, &wakes, sizeof(wakes)) < 0 && errno == EINTR)
        ;
    while ((stream = next_done(server))) {
        struct grpc_connection *connection = stream->connection;

        LIST_REMOVE(stream, at_work);
        server->working--;
        grpc_stream_answer(stream);
        if (connection)
            grpc_connection_flush(connection);
    }
    if (server->stopping && !server->leaving) {
        server->leaving = true;
        server->end_us = clock_monotonic_us() + server->grace_us;
        grpc_server_look_at(server, server->end_us);
        unix_socket_remove(&server->socket);
        close(server->listener);
        server->listener = -1;
        for_each_connection(server, grpc_connection_leave);
    } else if (waiting && !server->leaving) {
        accept_all(server);
    }
    check_time(server);
}

static void *run(void *arg) {
    struct grpc_server *server = arg;

    while (!server->leaving || !LIST_EMPTY(&server->connections))
        turn(server);
    return NULL;
}

/* ---- start and stop ---- */

static struct grpc_server *server_new(const struct grpc_server_settings *settings) {
    struct arena *arena = arena_new();
    struct grpc_server *server = arena_alloc(arena, sizeof(*server));

    server->arena = arena;
    server->most_connections = settings->connections ? settings->connections : 128;
    server->most_streams = settings->streams ? settings->streams : 64;
    server->message_limit = settings->message_limit ? settings->message_limit : 256 * 1024;
    server->most_waiting = settings->waiting_bytes ? settings->waiting_bytes : 32 * 1024 * 1024;
    server->request_us = (settings->request_ms ? settings->request_ms : DEFAULT_PATIENCE_MS) * 1000;
    server->answer_us = (settings->answer_ms ? settings->answer_ms : DEFAULT_PATIENCE_MS) * 1000;
    server->listener = server->poll = server->wake = server->socket.lock = -1;
    LIST_INIT(&server->connections);
    LIST_INIT(&server->at_work);
    STAILQ_INIT(&server->done);
    pthread_mutex_init(&server->lock, NULL);
    grpc_methods_add(server, settings);
    return server;
}

static void close_fd(int fd) {
    if (fd >= 0)
        close(fd);
}

static void server_free(struct grpc_server *server) {
    unix_socket_remove(&server->socket);
    close_fd(server->listener);
    close_fd(server->poll);
    close_fd(server->wake);
    nghttp2_session_callbacks_del(server->callbacks);
    nghttp2_option_del(server->option);
    pthread_mutex_destroy(&server->lock);
    arena_free(server->arena);
}

static int watch_own(const struct grpc_server *server, const int *fd) {
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = (void *)(uintptr_t)fd };

    return epoll_ctl(server->poll, EPOLL_CTL_ADD, *fd, &event);
}

static int prepare(struct grpc_server *server, struct error *err) {
    server->poll = epoll_create1(EPOLL_CLOEXEC);
    server->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (server->poll < 0 || server->wake < 0 || watch_own(server, &server->wake) < 0 ||
        watch_own(server, &server->listener) < 0)
        return error_errno(err, ERROR_INTERNAL, "cannot watch the gRPC socket");
    if (grpc_connection_callbacks(&server->callbacks) < 0 ||
        nghttp2_option_new(&server->option) != 0)
        return error_set(err, ERROR_INTERNAL, "cannot prepare HTTP/2");
    nghttp2_option_set_no_closed_streams(server->option, 1);
    return 0;
}

static void stop_workers(struct grpc_server *server) {
    worker_pool_stop(server->pool);
    worker_pool_stop(server->ahead);
}

int grpc_server_start(const struct grpc_server_settings *settings, struct grpc_server **ret,
                      struct error *err) {
    struct grpc_server *server = server_new(settings);
    const char *path = unix_socket_path(settings->endpoint);
    struct unix_socket_access access = settings->file;

    path = path && strncmp(path, "//", 2) == 0 ? path + 2 : path; /* unix:///PATH, unix:/PATH */
    path = arena_text(server->arena, path ? path : settings->endpoint);
    access.alone = true; /* kubelet treats other files in the directory as sockets of drivers */
    server->listener = unix_socket_listen(path, &access, &server->socket, err);
    if (server->listener < 0 && settings->option)
        error_context(err, "%s", settings->option);
    if (server->listener < 0 || prepare(server, err) < 0) {
        server_free(server);
        return -1;
    }
    server->workers = settings->workers ? settings->workers : DEFAULT_WORKERS;
    server->pool = worker_pool_new_fair("grpc", server->workers);
    server->ahead = worker_pool_new("grpc-ahead", WORKERS_AHEAD);
    if (thread_start(&server->loop, "grpc", run, server) != 0) {
        stop_workers(server);
        server_free(server);
        return error_set(err, ERROR_INTERNAL, "cannot start the gRPC server's thread");
    }
    *ret = server;
    return 0;
}

void grpc_server_stop(struct grpc_server *server, int64_t grace_ms) {
    struct grpc_stream *stream;

    if (!server)
        return;
    server->grace_us = grace_ms * 1000;
    server->stopping = true;
    grpc_server_wake(server);
    pthread_join(server->loop, NULL);
    stop_workers(server);
    while ((stream = LIST_FIRST(&server->at_work))) {
        LIST_REMOVE(stream, at_work);
        grpc_stream_free(stream);
    }
    server_free(server);
}
