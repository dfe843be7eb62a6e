/*
 * One client's connection: HTTP/2 over its socket.
 */
#include "grpc/server.private.h"

#include "common/cleanup.h"
#include "common/heap.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define READ_SIZE         ((size_t)16 * 1024)
#define WRITES_A_TURN     8
#define CONNECTION_WINDOW (1024 * 1024)
#define SMALL_DATA        64

/* Frames without effect: client libraries send them now and then, and some with each call. */
#define IDLE_FRAMES             2000
#define IDLE_FRAMES_A_SECOND    200
#define IDLE_FRAMES_WITH_A_CALL 16
/* Resets: a client that exits closes its connection, and one that times out has waited before. */
#define RESETS          500
#define RESETS_A_SECOND 50
/* Clients know the limit; each larger head costs more than a call. */
#define LARGE_HEADS          16
#define LARGE_HEADS_A_SECOND 1
/* A block of headers above GRPC_HEAD_MOST is refused; one far above it is not decoded to its
 * end. */
#define BLOCK_MOST (4 * GRPC_HEAD_MOST)

/* ---- allowances ---- */

static struct grpc_allowance allowance(int64_t most, int64_t per_second) {
    return (struct grpc_allowance){ most, most, per_second, clock_monotonic_us() };
}

static void grant(struct grpc_allowance *allowance, int64_t more) {
    allowance->left += more;
    if (allowance->left > allowance->most)
        allowance->left = allowance->most;
}

static void charge(struct grpc_connection *connection, struct grpc_allowance *of) {
    int64_t now_us = clock_monotonic_us();
    int64_t earned = (now_us - of->filled_us) * of->per_second / SECOND_US;

    if (earned > 0) {
        grant(of, earned);
        of->filled_us = now_us;
    }
    if (--of->left < 0)
        nghttp2_session_terminate_session(connection->session, NGHTTP2_ENHANCE_YOUR_CALM);
}

/* ---- what nghttp2 calls ---- */

static ssize_t put_out(nghttp2_session *session, const uint8_t *bytes, size_t size, int flags,
                       void *arg) {
    struct grpc_connection *connection = arg;
    size_t room = sizeof(connection->out) - connection->out_size;
    size_t taken = size < room ? size : room;

    (void)session, (void)flags;
    if (taken == 0)
        return NGHTTP2_ERR_WOULDBLOCK;
    memcpy(connection->out + connection->out_size, bytes, taken);
    connection->out_size += taken;
    return (ssize_t)taken;
}

static int on_begin_frame(nghttp2_session *session, const nghttp2_frame_hd *frame, void *arg) {
    struct grpc_connection *connection = arg;

    (void)session;
    connection->greeted = true;
    if (frame->type == NGHTTP2_HEADERS)
        grant(&connection->idle_frames, IDLE_FRAMES_WITH_A_CALL);
    else if (frame->type != NGHTTP2_DATA ||
             (frame->length < SMALL_DATA && !(frame->flags & NGHTTP2_FLAG_END_STREAM)))
        charge(connection, &connection->idle_frames);
    return 0;
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *arg) {
    struct grpc_connection *connection = arg;

    connection->block_size = 0;
    if (frame->headers.cat == NGHTTP2_HCAT_REQUEST)
        nghttp2_session_set_stream_user_data(session, frame->hd.stream_id,
                                             grpc_stream_begin(connection, frame->hd.stream_id));
    return 0;
}

static struct grpc_stream *stream_of(nghttp2_session *session, int32_t id) {
    return nghttp2_session_get_stream_user_data(session, id);
}

/*
 * A reference to HPACK's table is one byte on the wire and up to 4 KiB that nghttp2 checks: decoded
 * bytes count, of requests, trailers and invalid headers alike.
 */
static int count_header(struct grpc_connection *connection, size_t size) {
    connection->block_size += size + GRPC_ENTRY_SIZE;
    if (connection->block_size <= BLOCK_MOST)
        return 0;
    nghttp2_session_terminate_session(connection->session, NGHTTP2_ENHANCE_YOUR_CALM);
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE; /* the rest of the block is not decoded */
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_size, const uint8_t *value, size_t value_size, uint8_t flags,
                     void *arg) {
    struct grpc_connection *connection = arg;
    struct grpc_stream *stream = stream_of(session, frame->hd.stream_id);

    (void)flags;
    if (stream && frame->headers.cat == NGHTTP2_HCAT_REQUEST && !stream->head_refused) {
        stream->head_refused = !grpc_head_add(&stream->head, stream->call.arena, (const char *)name,
                                              name_size, (const char *)value, value_size);
        if (stream->head_refused)
            charge(connection, &connection->large_heads);
    }
    return count_header(connection, name_size + value_size);
}

static int on_invalid_header(nghttp2_session *session, const nghttp2_frame *frame,
                             const uint8_t *name, size_t name_size, const uint8_t *value,
                             size_t value_size, uint8_t flags, void *arg) {
    (void)session, (void)frame, (void)name, (void)value, (void)flags;
    return count_header(arg, name_size + value_size);
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *bytes,
                   size_t size, void *arg) {
    struct grpc_stream *stream = stream_of(session, id);

    (void)flags, (void)arg;
    if (stream)
        grpc_stream_take_body(stream, bytes, size);
    return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *arg) {
    struct grpc_connection *connection = arg;
    struct grpc_stream *stream = stream_of(session, frame->hd.stream_id);

    if (frame->hd.type == NGHTTP2_RST_STREAM)
        charge(connection, &connection->resets);
    if (!stream || (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA))
        return 0;
    connection->called = true;
    if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
        grpc_stream_take_head(stream);
    if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM)
        grpc_stream_take_end(stream);
    return 0;
}

/* The response is sent before the request is complete: the rest of it is not needed.  A stream
 * reset by the server counts like one reset by its client. */
static int on_sent(nghttp2_session *session, const nghttp2_frame *frame, void *arg) {
    struct grpc_connection *connection = arg;
    const struct grpc_stream *stream = stream_of(session, frame->hd.stream_id);

    if (frame->hd.type == NGHTTP2_RST_STREAM && frame->rst_stream.error_code != NGHTTP2_NO_ERROR)
        charge(connection, &connection->resets);
    if (stream && !stream->ended && frame->hd.type == NGHTTP2_HEADERS &&
        frame->hd.flags & NGHTTP2_FLAG_END_STREAM)
        nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
                                  NGHTTP2_NO_ERROR);
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t code, void *arg) {
    struct grpc_stream *stream = stream_of(session, id);

    (void)code, (void)arg;
    if (stream)
        grpc_stream_close(stream);
    return 0;
}

int grpc_connection_callbacks(nghttp2_session_callbacks **ret) {
    nghttp2_session_callbacks *callbacks;

    if (nghttp2_session_callbacks_new(&callbacks) != 0)
        return -1;
    nghttp2_session_callbacks_set_send_callback(callbacks, put_out);
    nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, on_begin_frame);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks, on_invalid_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_sent);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
    *ret = callbacks;
    return 0;
}

/* ---- the socket ---- */

/* A client that does not read its responses is not read from: requests would add to them. */
static void watch(struct grpc_connection *connection, int how) {
    struct epoll_event event = {
        .events = connection->waits_for_room ? EPOLLOUT : EPOLLIN,
        .data.ptr = connection,
    };

    epoll_ctl(connection->server->poll, how, connection->fd, &event);
}

/* 1: everything is written; 0: the socket is full; -1: it is broken. */
static int write_out(struct grpc_connection *connection) {
    while (connection->out_sent < connection->out_size) {
        ssize_t sent = send(connection->fd, connection->out + connection->out_sent,
                            connection->out_size - connection->out_sent, MSG_NOSIGNAL);

        if (sent < 0)
            return errno == EAGAIN || errno == EINTR ? 0 : -1;
        connection->out_sent += (size_t)sent;
        connection->since_us = clock_monotonic_us();
    }
    connection->out_sent = connection->out_size = 0;
    return 1;
}

void grpc_connection_flush(struct grpc_connection *connection) {
    nghttp2_session *session = connection->session;
    bool more = true;
    int written = 1;

    for (unsigned i = 0; i < WRITES_A_TURN && written > 0 && more; i++) {
        if (connection->out_size == 0 && nghttp2_session_send(session) != 0)
            written = -1;
        else if (connection->out_size == 0)
            more = false;
        else
            written = write_out(connection);
    }
    if (written < 0 ||
        (!more && !nghttp2_session_want_read(session) && !nghttp2_session_want_write(session))) {
        grpc_connection_close(connection);
        return;
    }
    if (more)
        grpc_server_look_at(connection->server,
                            connection->since_us + connection->server->answer_us);
    if (more != connection->waits_for_room) {
        connection->waits_for_room = more;
        watch(connection, EPOLL_CTL_MOD);
    }
}

void grpc_connection_serve(struct grpc_connection *connection, uint32_t events) {
    uint8_t bytes[READ_SIZE];
    bool open = true;

    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
        ssize_t size = recv(connection->fd, bytes, sizeof(bytes), 0);

        open = size < 0 ? errno == EAGAIN || errno == EINTR
                        : size > 0 && nghttp2_session_mem_recv(connection->session, bytes,
                                                               (size_t)size) == size;
    }
    if (open)
        grpc_connection_flush(connection);
    else
        grpc_connection_close(connection);
}

/* ---- life ---- */

static int begin_session(struct grpc_connection *connection) {
    const struct grpc_server *server = connection->server;
    const nghttp2_settings_entry settings[] = {
        { NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, server->most_streams },
        { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE,
          (uint32_t)(server->message_limit + 2 * GRPC_PREFIX_SIZE) },
        { NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, GRPC_HEAD_MOST },
    };

    if (nghttp2_session_server_new2(&connection->session, server->callbacks, connection,
                                    server->option) != 0)
        return -1;
    return nghttp2_submit_settings(connection->session, NGHTTP2_FLAG_NONE, settings,
                                   LENGTH(settings)) != 0 ||
                   nghttp2_session_set_local_window_size(connection->session, NGHTTP2_FLAG_NONE, 0,
                                                         CONNECTION_WINDOW) != 0
               ? -1
               : 0;
}

void grpc_connection_open(struct grpc_server *server, int fd) {
    struct grpc_connection *connection = heap_new(sizeof(*connection));
    struct ucred peer = { .pid = 0, .uid = (uid_t)-1, .gid = (gid_t)-1 };
    socklen_t size = sizeof(peer);

    connection->server = server;
    connection->fd = fd;
    connection->since_us = clock_monotonic_us();
    connection->idle_frames = allowance(IDLE_FRAMES, IDLE_FRAMES_A_SECOND);
    connection->resets = allowance(RESETS, RESETS_A_SECOND);
    connection->large_heads = allowance(LARGE_HEADS, LARGE_HEADS_A_SECOND);

    getsockopt(connection->fd, SOL_SOCKET, SO_PEERCRED, &peer, &size);
    connection->uid = peer.uid;
    connection->gid = peer.gid;
    connection->pid = peer.pid;
    LIST_INIT(&connection->streams);
    LIST_INSERT_HEAD(&server->connections, connection, next);
    server->connection_count++;
    grpc_server_look_at(server, connection->since_us + server->request_us);
    watch(connection, EPOLL_CTL_ADD);
    if (begin_session(connection) < 0)
        grpc_connection_close(connection);
    else
        grpc_connection_flush(connection);
}

void grpc_connection_close(struct grpc_connection *connection) {
    struct grpc_stream *stream;

    nghttp2_session_del(connection->session);
    while ((stream = LIST_FIRST(&connection->streams)))
        grpc_stream_close(stream);
    LIST_REMOVE(connection, next);
    connection->server->connection_count--;
    close(connection->fd);
    free(connection);
}

void grpc_connection_leave(struct grpc_connection *connection) {
    nghttp2_session *session = connection->session;

    nghttp2_submit_goaway(session, NGHTTP2_FLAG_NONE,
                          nghttp2_session_get_last_proc_stream_id(session), NGHTTP2_NO_ERROR, NULL,
                          0);
    grpc_connection_flush(connection);
}

void grpc_connection_check_time(struct grpc_connection *connection, int64_t now_us) {
    struct grpc_server *server = connection->server;
    int64_t due_us = connection->since_us +
                     (connection->waits_for_room ? server->answer_us : server->request_us);
    bool waits = !connection->greeted || connection->waits_for_room;
    bool late = waits && now_us >= due_us;
    struct grpc_stream *stream;

    if (waits)
        grpc_server_look_at(server, due_us);
    LIST_FOREACH(stream, &connection->streams, next) {
        if (!grpc_stream_check_time(stream, now_us))
            late |= connection->waits_for_room; /* its reset would wait, too */
    }
    if (late)
        grpc_connection_close(connection);
    else
        grpc_connection_flush(connection);
}
