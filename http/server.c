#include "http/server.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/thread.h"
#include "http/acceptor.private.h"
#include "http/connection.private.h"
#include "http/eviction.private.h"
#include "http/head.private.h"
#include "http/listen.h"
#include "http/refusal.private.h"
#include "http/reply.private.h"
#include "http/revocations.private.h"
#include "http/stream.private.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define DEFAULT_BODY_LIMIT   114688
#define DEFAULT_IDLE_SECONDS 60
#define REQUEST_SECONDS      30
#define DEFAULT_CONNECTIONS  1000
#define KEPT_DESCRIPTORS     256 /* reserved for files, programs, the database and calls */
#define LEAST_CONNECTIONS    8
#define DEFAULT_ANSWER_BYTES ((size_t)64 * 1024 * 1024)
#define TLS_STACK_SIZE       ((size_t)1024 * 1024) /* a handshake computes on the stack */
#define LAST_WORDS_MS        5000                  /* for the responses to abandoned exchanges */

/* ---- start ---- */

static int longer_first(const void *a, const void *b) {
    size_t left = ((const struct mount *)a)->length, right = ((const struct mount *)b)->length;

    return (left < right) - (left > right);
}

static void copy_mounts(struct http_server *server, const struct http_mount *mounts) {
    while (mounts[server->mount_count].handler)
        server->mount_count++;
    server->mounts = arena_alloc(server->arena, server->mount_count * sizeof(struct mount));
    for (size_t i = 0; i < server->mount_count; i++) {
        size_t length = http_length(mounts[i].prefix);

        server->mounts[i] = (struct mount){
            .prefix = arena_text_n(server->arena, mounts[i].prefix, length),
            .length = length,
            .handler = mounts[i].handler,
            .arg = mounts[i].arg,
        };
    }
    qsort(server->mounts, server->mount_count, sizeof(struct mount), longer_first);
}

static size_t keep_escapes(void *arg, struct MHD_Connection *mhd, char *text) {
    (void)arg, (void)mhd;
    return strlen(text);
}

/* libmicrohttpd takes a pool of two threads and more; without a pool it has one.  The acceptor
 * counts the connections; each thread has twice the limit, because closed connections still count
 * for a moment after they were reported. */
static struct MHD_Daemon *start_daemon(struct http_server *server, unsigned threads) {
    struct MHD_OptionItem pool[] = { { MHD_OPTION_THREAD_POOL_SIZE, (intptr_t)threads, NULL },
                                     { MHD_OPTION_END, 0, NULL } };
    struct MHD_OptionItem tls[] = {
        { MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)server->tls.cert },
        { MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)server->tls.key },
        { MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)server->tls.priorities },
        { MHD_OPTION_HTTPS_MEM_TRUST, 0, (void *)(uintptr_t)server->tls.ca },
        { MHD_OPTION_END, 0, NULL }
    };

    if (!server->tls.ca)
        tls[3].option = MHD_OPTION_END;
    if (!server->tls.cert)
        tls[0].option = MHD_OPTION_END;
    if (threads < 2)
        pool[0].option = MHD_OPTION_END;
    return MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET |
            MHD_USE_ERROR_LOG | (server->tls.cert ? MHD_USE_TLS : MHD_NO_FLAG),
        0, NULL, NULL, http_connection_serve, server, MHD_OPTION_EXTERNAL_LOGGER,
        http_refusal_logged, server, MHD_OPTION_CONNECTION_LIMIT,
        2 * threads * (server->most_connections + HTTP_SPARE_SLOTS), MHD_OPTION_CONNECTION_TIMEOUT,
        server->idle_seconds, MHD_OPTION_CONNECTION_MEMORY_LIMIT, HTTP_CONNECTION_MEMORY,
        MHD_OPTION_THREAD_STACK_SIZE, server->tls.cert ? TLS_STACK_SIZE : THREAD_STACK_SIZE,
        MHD_OPTION_STRICT_FOR_CLIENT, http_head_lies_as_sent() ? 0 : 1,
        MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL, MHD_OPTION_URI_LOG_CALLBACK,
        http_connection_begin, server, MHD_OPTION_NOTIFY_COMPLETED, http_connection_end, server,
        MHD_OPTION_NOTIFY_CONNECTION, http_connection_notice, server, MHD_OPTION_ARRAY, pool,
        MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
}

/* Clients get no descriptor that the service itself may need. */
static unsigned connections_that_fit(unsigned wanted) {
    const unsigned kept = KEPT_DESCRIPTORS + HTTP_SPARE_SLOTS;
    struct rlimit limit;
    unsigned most = LEAST_CONNECTIONS;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= (rlim_t)wanted + kept)
        return wanted;
    if (limit.rlim_cur > kept + LEAST_CONNECTIONS)
        most = (unsigned)limit.rlim_cur - kept;
    if (most >= wanted)
        return wanted;
    log_warning(NULL, "not enough descriptors for all connections", "wanted", LOG_INT(wanted),
                "possible", LOG_INT(most), NULL);
    return most;
}

static struct http_server *server_new(const struct http_server_settings *settings) {
    unsigned idle_seconds = settings->idle_seconds ? settings->idle_seconds : DEFAULT_IDLE_SECONDS;
    struct arena *arena = arena_new();
    struct http_server *server = arena_alloc(arena, sizeof(*server));
    unsigned least_seconds;
    pthread_mutexattr_t kind;

    server->arena = arena;
    server->body_limit = settings->body_limit ? settings->body_limit : DEFAULT_BODY_LIMIT;
    server->idle_seconds = idle_seconds;
    server->refuse = http_connection_refuse;
    server->request_seconds =
        settings->request_seconds ? settings->request_seconds : REQUEST_SECONDS;
    least_seconds = server->request_seconds < idle_seconds ? server->request_seconds : idle_seconds;
    server->tick_seconds = least_seconds >= 8 ? least_seconds / 4 : 1;
    server->most_connections =
        connections_that_fit(settings->connections ? settings->connections : DEFAULT_CONNECTIONS);
    server->most_of_address = settings->address_connections;
    server->most_answer_bytes =
        settings->answer_bytes ? settings->answer_bytes : DEFAULT_ANSWER_BYTES;
    server->acceptor_wake = server->hangups = server->unix_socket.lock = -1;
    /* libmicrohttpd may log within a call that holds the lock: see refusal.c. */
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&server->lock, &kind);
    pthread_mutexattr_destroy(&kind);
    thread_cond_init(&server->changed);
    copy_mounts(server, settings->mounts);
    return server;
}

static void server_free(struct http_server *server) {
    unix_socket_remove(&server->unix_socket);
    if (server->acceptor_wake >= 0)
        close(server->acceptor_wake);
    if (server->hangups >= 0)
        close(server->hangups);
    pthread_mutex_destroy(&server->lock);
    pthread_cond_destroy(&server->changed);
    revocations_free(server->tls.revocations);
    arena_free(server->arena);
}

static int launch(struct http_server *server, const struct http_server_settings *settings, int fd,
                  struct error *err) {
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned threads = processors > 2 ? (unsigned)processors : 2;

    server->daemon = start_daemon(server, settings->threads ? settings->threads : threads);
    if (!server->daemon)
        return error_set(err, ERROR_INTERNAL, "cannot start the HTTP server on %s",
                         settings->address);
    if (http_acceptor_open(server, fd) != 0) {
        MHD_stop_daemon(server->daemon);
        return error_set(err, ERROR_INTERNAL, "cannot start a thread of the HTTP server");
    }
    return 0;
}

static int open_listener(struct http_server *server, const struct http_server_settings *settings,
                         struct error *err) {
    const char *path = unix_socket_path(settings->address);
    int fd = path ? unix_socket_listen(arena_text(server->arena, path), &settings->file,
                                       &server->unix_socket, err)
                  : listen_open(settings->address, settings->port, err);

    if (fd < 0 && settings->option)
        error_context(err, "%s", settings->option);
    if (fd >= 0 && !path)
        server->port = listen_port(fd);
    return fd;
}

int http_server_start(const struct http_server_settings *settings, struct http_server **ret,
                      struct error *err) {
    struct http_server *server = server_new(settings);
    autoclose int fd = open_listener(server, settings, err);

    signal(SIGPIPE, SIG_IGN);
    if (fd < 0 ||
        (settings->cert_file && http_tls_read(server->arena, settings, &server->tls, err) < 0) ||
        launch(server, settings, fd, err) < 0) {
        server_free(server);
        return -1;
    }
    take_fd(fd);
    *ret = server;
    return 0;
}

unsigned http_server_port(const struct http_server *server) {
    return server->port;
}

/* ---- stop ---- */

static void wait_for_answers(struct http_server *server, int64_t ms) {
    int64_t end_us = clock_monotonic_us() + ms * 1000;

    while (atomic_load(&server->open) > 0 &&
           thread_cond_wait(&server->changed, &server->lock, end_us))
        ;
}

/* libmicrohttpd's threads must have taken over all connections before they end: the remaining ones
 * are freed without a lock.  Its version 0.9 crashes when it refuses a request while stopping: no
 * connection is left then. */
static void end_connections(struct http_server *server) {
    int64_t end_us = clock_monotonic_us() + LAST_WORDS_MS * 1000;

    scoped_lock(&server->lock);
    while (server->arriving > 0 && thread_cond_wait(&server->changed, &server->lock, end_us))
        ;
    http_evict_all(server);
    end_us = clock_monotonic_us() + LAST_WORDS_MS * 1000;
    while (!LIST_EMPTY(&server->all) && thread_cond_wait(&server->changed, &server->lock, end_us))
        ;
}

void http_server_stop(struct http_server *server, unsigned drain_ms) {
    if (!server)
        return;
    http_acceptor_shut(server);
    http_streams_end(server);
    pthread_mutex_lock(&server->lock);
    wait_for_answers(server, drain_ms);
    http_reply_abandon_awaited(server);
    wait_for_answers(server, LAST_WORDS_MS);
    pthread_mutex_unlock(&server->lock);
    http_acceptor_close(server);
    end_connections(server);
    MHD_stop_daemon(server->daemon);
    server_free(server);
}
