#include "http/stream.h"

#include "common/cleanup.h"
#include "common/heap.h"
#include "common/thread.h"
#include "http/answers.private.h"
#include "http/reply.private.h"
#include "http/stream.private.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define BLOCK       ((size_t)4096) /* of a response without chunks: to HTTP/1.0 */
#define SOCKET_ROOM (64 * 1024)    /* kernel's buffer for a client that does not read */

#define HANGUPS_A_TURN 64

struct connection_stream {
    struct http_stream stream;
    atomic_uint owners;
    LIST_ENTRY(connection_stream) next; /* with the server's lock held */
    uint64_t number;                    /* position in the list; unique in the server */

    pthread_mutex_t lock;               /* guards the members below, and stream.wake */
    struct http_server *server;         /* valid while its list has this stream; NULL: not listed */
    struct http_connection *connection; /* NULL: over */
    bool asleep;                        /* the connection sleeps and must be woken */
    bool full;                          /* the writer waits for space */
    bool ended;                         /* the writer has ended */
    char *bytes;
    size_t begin, size, room; /* pending bytes: from begin to size */
};

static void release(struct connection_stream *stream) {
    if (atomic_fetch_sub(&stream->owners, 1) != 1)
        return;
    pthread_mutex_destroy(&stream->lock);
    free(stream->bytes);
    free(stream);
}

/* ---- the writer's side; the lock is held ---- */

static void wake_writer(struct connection_stream *stream) {
    stream->full = false;
    if (stream->stream.wake)
        stream->stream.wake(stream->stream.wake_arg);
}

static void wake_connection(struct connection_stream *stream) {
    if (!stream->connection || !stream->asleep)
        return;
    stream->asleep = false;
    http_connection_take_turn(stream->connection, HTTP_TURN_ANSWER);
    MHD_resume_connection(stream->connection->mhd); /* calls no function of the server */
}

static size_t waiting(const struct connection_stream *stream) {
    return stream->size - stream->begin;
}

/* A piece larger than the buffer is a waiting response, and counts as one. */
static bool has_room(struct connection_stream *stream, size_t size) {
    size_t waits = waiting(stream);

    if (size <= HTTP_STREAM_ROOM)
        return waits + size <= HTTP_STREAM_ROOM;
    return waits == 0 && http_answers_take(stream->connection, size);
}

static void append(struct connection_stream *stream, const char *bytes, size_t size) {
    if (size > stream->room - stream->size) {
        /* doubled, so that many pieces need few moves */
        size_t waits = waiting(stream), room = 2 * waits + size;
        char *larger = heap_new(room);

        if (waits > 0)
            memcpy(larger, stream->bytes + stream->begin, waits);
        free(stream->bytes);
        stream->bytes = larger;
        stream->room = room;
        stream->begin = 0;
        stream->size = waits;
    }
    memcpy(stream->bytes + stream->size, bytes, size);
    stream->size += size;
}

static enum http_stream_state put(struct http_stream *base, const char *bytes, size_t size) {
    struct connection_stream *stream = (struct connection_stream *)base; /* its first member */
    enum http_stream_state state = HTTP_STREAM_TAKEN;

    scoped_lock(&stream->lock);
    if (!stream->connection || stream->ended) {
        state = HTTP_STREAM_OVER;
    } else if (size == 0 ? stream->full : !has_room(stream, size)) {
        state = HTTP_STREAM_FULL;
        stream->full = waiting(stream) > 0; /* otherwise others use the space, which is not
                                             * signalled */
    } else if (size > 0) {
        append(stream, bytes, size);
        wake_connection(stream);
    }
    return state;
}

static void finish(struct connection_stream *stream) {
    scoped_lock(&stream->lock);
    stream->ended = true;
    wake_connection(stream);
}

static void end(struct http_stream *base) {
    struct connection_stream *stream = (struct connection_stream *)base;

    pthread_mutex_lock(&stream->lock);
    stream->stream.wake = NULL;
    pthread_mutex_unlock(&stream->lock);
    finish(stream);
    release(stream);
}

/* The server may be gone: the reply detects that. */
struct http_stream *http_connection_stream(struct http_exchange *exchange) {
    struct http_connection *connection = exchange->transport;
    struct connection_stream *stream = heap_new(sizeof(*stream));

    stream->stream = (struct http_stream){ .put = put, .end = end };
    stream->connection = connection;
    stream->owners = 2;
    pthread_mutex_init(&stream->lock, NULL);
    connection->stream = stream;
    return &stream->stream;
}

struct http_stream *http_stream_open(struct http_exchange *exchange, void (*wake)(void *arg),
                                     void *arg) {
    struct http_stream *stream = exchange->open(exchange);

    stream->wake = wake;
    stream->wake_arg = arg;
    http_reply(exchange);
    return stream;
}

/* ---- the connection's side ---- */

/* The lock is held. */
static ssize_t hand_out(struct connection_stream *stream, char *room, size_t most) {
    size_t count = waiting(stream) < most ? waiting(stream) : most;

    http_connection_take_turn(stream->connection, HTTP_TURN_ANSWER);
    memcpy(room, stream->bytes + stream->begin, count);
    stream->begin += count;
    if (waiting(stream) == 0) {
        free(stream->bytes);
        stream->bytes = NULL;
        stream->begin = stream->size = stream->room = 0;
        http_answers_give_back(stream->connection);
    }
    if (stream->full)
        wake_writer(stream);
    return (ssize_t)count;
}

static int socket_of(const struct connection_stream *stream) {
    return MHD_get_connection_info(stream->connection->mhd, MHD_CONNECTION_INFO_CONNECTION_FD)
        ->connect_fd;
}

/* Called again whenever the client has read all of the last piece. */
static ssize_t read_piece(void *arg, uint64_t at, char *room, size_t most) {
    struct connection_stream *stream = arg;
    ssize_t result;

    (void)at;
    scoped_lock(&stream->lock);
    if (waiting(stream) > 0) {
        result = hand_out(stream, room, most);
    } else if (stream->ended) {
        result = MHD_CONTENT_READER_END_OF_STREAM;
    } else {
        /* libmicrohttpd does not watch the client of a suspended connection.  Its hangup is
         * signalled once, also when it has gone already; if the kernel cannot, the next piece
         * detects it. */
        struct epoll_event hangup = { .events = EPOLLRDHUP | EPOLLONESHOT,
                                      .data.u64 = stream->number };

        stream->asleep = true;
        http_connection_take_turn(stream->connection, HTTP_TURN_OURS);
        epoll_ctl(stream->server->hangups, EPOLL_CTL_MOD, socket_of(stream), &hangup);
        MHD_suspend_connection(stream->connection->mhd);
        result = 0;
    }
    return result;
}

void http_stream_over(struct connection_stream *stream) {
    struct http_server *server;

    pthread_mutex_lock(&stream->lock);
    server = stream->server;
    if (server) {
        epoll_ctl(server->hangups, EPOLL_CTL_DEL, socket_of(stream), NULL);
        pthread_mutex_lock(&server->lock);
        LIST_REMOVE(stream, next);
        stream->server = NULL;
        pthread_mutex_unlock(&server->lock);
    }
    stream->connection = NULL;
    wake_writer(stream);
    pthread_mutex_unlock(&stream->lock);
    release(stream);
}

static void response_over(void *stream) {
    http_stream_over(stream);
}

struct MHD_Response *http_stream_response(struct connection_stream *stream) {
    const int room = SOCKET_ROOM;
    struct MHD_Response *response;
    struct epoll_event nothing = { .events = EPOLLONESHOT }; /* until it sleeps */
    struct http_server *server;

    pthread_mutex_lock(&stream->lock);
    server = stream->connection->server;
    pthread_mutex_lock(&server->lock);
    LIST_INSERT_HEAD(&server->streams, stream, next);
    stream->number = ++server->last_stream;
    stream->server = server;
    stream->ended |= atomic_load(&server->stopping);
    pthread_mutex_unlock(&server->lock);
    epoll_ctl(server->hangups, EPOLL_CTL_ADD, socket_of(stream), &nothing);
    pthread_mutex_unlock(&stream->lock);
    setsockopt(socket_of(stream), SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
    response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, read_piece, stream,
                                                 response_over);
    if (!response)
        http_stream_over(stream);
    return response;
}

/* ---- all streams ---- */

void http_streams_end(struct http_server *server) {
    struct connection_stream **all, *stream; /* each with a reference; NULL at the end */
    size_t count = 0;

    pthread_mutex_lock(&server->lock);
    LIST_FOREACH(stream, &server->streams, next) count++;
    all = heap_new((count + 1) * sizeof(struct connection_stream *));
    count = 0;
    LIST_FOREACH(stream, &server->streams, next) {
        atomic_fetch_add(&stream->owners, 1);
        all[count++] = stream;
    }
    pthread_mutex_unlock(&server->lock);
    for (struct connection_stream **each = all; *each; each++) {
        finish(*each);
        release(*each);
    }
    free(all);
}

/* With a reference; NULL: it is over. */
static struct connection_stream *find_stream(struct http_server *server, uint64_t number) {
    struct connection_stream *stream = NULL;

    scoped_lock(&server->lock);
    LIST_FOREACH(stream, &server->streams, next) {
        if (stream->number == number)
            break;
    }
    if (stream)
        atomic_fetch_add(&stream->owners, 1);
    return stream;
}

void http_streams_take_hangups(struct http_server *server) {
    struct epoll_event events[HANGUPS_A_TURN];
    int count = epoll_wait(server->hangups, events, LENGTH(events), 0);

    for (int i = 0; i < count; i++) {
        struct connection_stream *stream = find_stream(server, events[i].data.u64);

        if (!stream)
            continue;
        /* A connection woken for another reason continues, and is watched again when it sleeps.
         * The stream ends normally: after an error libmicrohttpd keeps the socket until older
         * connections have moved. */
        pthread_mutex_lock(&stream->lock);
        if (stream->asleep) {
            stream->ended = true;
            wake_connection(stream);
        }
        pthread_mutex_unlock(&stream->lock);
        release(stream);
    }
}
