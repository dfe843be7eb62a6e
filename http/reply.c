#include "http/reply.private.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/thread.h"
#include "http/answers.private.h"
#include "http/stream.private.h"

#include <poll.h>
#include <stdlib.h>

#define ARENA_KEPT ((size_t)32 * 1024) /* most request memory that a waiting response keeps */

/* The value is copied into the caller's arena, which outlives an abandoned connection.  An open
 * exchange is abandoned by its connection's thread alone, which therefore needs no lock. */
const char *http_reply_find_header(const struct http_exchange *exchange, const char *name) {
    struct http_connection *connection = exchange->transport;
    const bool locks =
        connection->state != REPLY_OPEN || !pthread_equal(connection->thread, pthread_self());
    const char *value = NULL;

    if (locks)
        pthread_mutex_lock(&connection->lock);
    if (connection->state != REPLY_ABANDONED)
        value = arena_text(exchange->arena,
                           MHD_lookup_connection_value(connection->mhd, MHD_HEADER_KIND, name));
    if (locks)
        pthread_mutex_unlock(&connection->lock);
    return value;
}

/* The socket stays open while the connection is suspended, or in its own thread. */
bool http_reply_client_left(const struct http_exchange *exchange) {
    struct http_connection *connection = exchange->transport;
    struct pollfd poll_fd = { .fd = -1, .events = POLLRDHUP };

    scoped_lock(&connection->lock);
    if (connection->state != REPLY_ABANDONED)
        poll_fd.fd =
            MHD_get_connection_info(connection->mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    if (poll_fd.fd >= 0)
        poll(&poll_fd, 1, 0);
    return poll_fd.fd < 0 || poll_fd.revents != 0;
}

static bool take_step(struct http_connection *connection, enum reply_state from,
                      enum reply_state to) {
    return atomic_compare_exchange_strong(&connection->state, &from, to);
}

static void resume(struct http_connection *connection) {
    LIST_REMOVE(connection, awaiting);
    MHD_resume_connection(connection->mhd); /* calls no function of the server */
}

void http_reply_take(struct http_exchange *exchange) {
    struct http_connection *connection = exchange->transport;
    struct http_server *server = connection->server;

    assert(exchange->status >= 200 && exchange->status <= 599);
    if (take_step(connection, REPLY_OPEN, REPLY_GIVEN))
        return;
    if (take_step(connection, REPLY_AWAITED, REPLY_GIVEN)) {
        pthread_mutex_lock(&server->lock);
        resume(connection);
        if (server->abandoning)
            pthread_cond_broadcast(&server->changed);
        pthread_mutex_unlock(&server->lock);
        return;
    }
    assert(connection->state == REPLY_ABANDONED); /* otherwise http_reply() was called twice */
    if (connection->stream)
        http_stream_over(connection->stream);
    http_connection_release(connection);
}

/* The reference is added before the transition: after it http_reply() may end the exchange at any
 * moment. */
static bool abandon(struct http_connection *connection, enum reply_state from) {
    bool taken;

    scoped_lock(&connection->lock);
    atomic_store(&connection->owners, 2);
    taken = take_step(connection, from, REPLY_ABANDONED);
    if (!taken)
        atomic_store(&connection->owners, 1);
    return taken;
}

/*
 * libmicrohttpd reads from a resumed connection before it asks for the reply, and would close one
 * whose client has shut its sending side; connections with their own timeout are processed before
 * that.
 */
void http_reply_own_timeout(struct http_connection *connection, bool own) {
    connection->slept = own;
    MHD_set_connection_option(connection->mhd, MHD_CONNECTION_OPTION_TIMEOUT,
                              connection->server->idle_seconds + own);
}

bool http_reply_await(struct http_connection *connection) {
    struct http_server *server = connection->server;
    bool asleep = false;

    scoped_lock(&server->lock);
    if (server->abandoning) {
        abandon(connection, REPLY_OPEN);
    } else if (take_step(connection, REPLY_OPEN, REPLY_AWAITED)) {
        LIST_INSERT_HEAD(&server->awaiting, connection, awaiting);
        http_reply_own_timeout(connection, true);
        MHD_suspend_connection(connection->mhd);
        asleep = true;
    }
    return asleep;
}

void http_reply_abandon_awaited(struct http_server *server) {
    struct http_connection *connection, *next;

    server->abandoning = true;
    for (connection = LIST_FIRST(&server->awaiting); connection; connection = next) {
        next = LIST_NEXT(connection, awaiting);
        if (abandon(connection, REPLY_AWAITED))
            resume(connection);
    }
    while (!LIST_EMPTY(&server->awaiting))
        pthread_cond_wait(&server->changed, &server->lock);
}

static enum MHD_Result queue_response(struct http_connection *connection, int status,
                                      struct MHD_Response *response) {
    enum MHD_Result result;

    if (connection->last || atomic_load(&connection->server->stopping))
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    result = MHD_queue_response(connection->mhd, (unsigned)status, response);
    MHD_destroy_response(response);
    http_connection_take_turn(connection, HTTP_TURN_ANSWER);
    return result;
}

enum MHD_Result http_reply_queue_plain(struct http_connection *connection, int status) {
    return queue_response(connection, status,
                          MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT));
}

/* A large body is not copied.  It may have been grown with space for more. */
static struct MHD_Response *response_of_heap(char **heap, size_t size) {
    char *body = take(*heap), *exact = realloc(body, size);
    struct MHD_Response *response;

    if (exact)
        body = exact;
    response = MHD_create_response_from_buffer(size, body, MHD_RESPMEM_MUST_FREE);
    if (!response)
        free(body);
    return response;
}

/* The response is moved out of a large arena: while a client reads slowly, only the response is
 * kept. */
static struct MHD_Response *response_of(struct http_connection *connection) {
    const struct http_exchange *exchange = &connection->exchange;
    void *body = (void *)(uintptr_t)exchange->reply_body;

    if (connection->stream)
        return http_stream_response(take(connection->stream));
    if (exchange->reply_heap && *exchange->reply_heap == body && exchange->reply_size > 0)
        return response_of_heap(exchange->reply_heap, exchange->reply_size);
    if (arena_bytes(exchange->arena) <= ARENA_KEPT)
        return MHD_create_response_from_buffer(exchange->reply_size, body, MHD_RESPMEM_PERSISTENT);
    return MHD_create_response_from_buffer(exchange->reply_size, body, MHD_RESPMEM_MUST_COPY);
}

enum MHD_Result http_reply_queue(struct http_connection *connection) {
    struct http_exchange *exchange = &connection->exchange;
    struct MHD_Response *response;

    if (!http_answers_take(connection, exchange->reply_size) && exchange->refuse)
        exchange->refuse(exchange->refuse_arg);
    response = response_of(connection);
    if (!response)
        return MHD_NO;
    for (unsigned i = 0; i < exchange->reply_header_count; i++)
        MHD_add_response_header(response, exchange->reply_headers[i].name,
                                exchange->reply_headers[i].value);
    if (arena_bytes(exchange->arena) > ARENA_KEPT)
        arena_reset(exchange->arena); /* everything was copied or taken */
    return queue_response(connection, exchange->status, response);
}
