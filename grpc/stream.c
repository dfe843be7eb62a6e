/*
 * One call, from its headers to its trailers.
 */
#include "grpc/server.private.h"

#include "common/cleanup.h"
#include "common/heap.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM   1024
#define ANSWER_PIECE ((size_t)1024 * 1024)
#define MOST_HEADERS 6
#define MOST_WORKING 1024 /* cancelled calls count until their handlers end */
#define PAST_US      1

/* ---- lifetime ---- */

struct grpc_stream *grpc_stream_begin(struct grpc_connection *connection, int32_t id) {
    struct grpc_stream *stream = heap_new(sizeof(*stream));

    stream->server = connection->server;
    stream->connection = connection;
    stream->id = id;
    stream->since_us = clock_monotonic_us();
    stream->head.timeout_us = -1;
    stream->call.arena = arena_new();
    stream->call.uid = connection->uid;
    stream->call.gid = connection->gid;
    stream->call.pid = connection->pid;
    LIST_INSERT_HEAD(&connection->streams, stream, next);
    grpc_server_look_at(stream->server, stream->since_us + stream->server->request_us);
    return stream;
}

static void drop_body(struct grpc_stream *stream) {
    free(stream->body);
    stream->body = NULL;
    stream->server->arriving_bytes -= stream->room;
    stream->room = 0;
}

void grpc_stream_free(struct grpc_stream *stream) {
    drop_body(stream);
    stream->server->answer_bytes -= stream->counted_bytes;
    free(stream->frame);
    arena_free(stream->call.arena);
    free(stream);
}

/* Ends waits on behalf of the call. */
static void cancel(struct grpc_stream *stream) {
    __atomic_store_n(&stream->call.until_us, PAST_US, __ATOMIC_RELAXED);
}

void grpc_stream_close(struct grpc_stream *stream) {
    LIST_REMOVE(stream, next);
    stream->connection = NULL;
    if (stream->state == GRPC_WORKED_ON)
        cancel(stream);
    else
        grpc_stream_free(stream);
}

/* ---- response ---- */

static nghttp2_nv header(const char *name, const char *value) {
    return (nghttp2_nv){
        .name = (uint8_t *)(uintptr_t)name,
        .value = (uint8_t *)(uintptr_t)value,
        .namelen = strlen(name),
        .valuelen = strlen(value),
    };
}

static int64_t answer_due_us(const struct grpc_stream *stream) {
    return stream->since_us +
           stream->server->answer_us * (int64_t)(1 + stream->frame_size / ANSWER_PIECE);
}

static void begin_answer(struct grpc_stream *stream) {
    /* only the response is kept */
    drop_body(stream);
    stream->head = (struct grpc_head){ 0 };
    arena_reset(stream->call.arena);
    stream->state = GRPC_ANSWERED;
    stream->since_us = clock_monotonic_us();
    grpc_server_look_at(stream->server, answer_due_us(stream));
}

/* Trailers-only response: headers and trailers in one. */
static void submit(struct grpc_stream *stream, const nghttp2_nv *headers, size_t count,
                   const nghttp2_data_provider *data) {
    if (nghttp2_submit_response(stream->connection->session, stream->id, headers, count, data) != 0)
        nghttp2_submit_rst_stream(stream->connection->session, NGHTTP2_FLAG_NONE, stream->id,
                                  NGHTTP2_INTERNAL_ERROR);
    begin_answer(stream);
}

static void answer_http(struct grpc_stream *stream, const char *status) {
    const nghttp2_nv headers[] = { header(":status", status) };

    submit(stream, headers, 1, NULL);
}

static void stream_refuse(struct grpc_stream *stream, enum grpc_code code, const char *why) {
    char number[12];
    nghttp2_nv headers[MOST_HEADERS] = { header(":status", "200"),
                                         header("content-type", "application/grpc") };
    size_t count = 2;

    snprintf(number, sizeof(number), "%d", (int)code);
    headers[count++] = header("grpc-status", number);
    headers[count++] = header("grpc-message", grpc_message_escape(stream->call.arena, why));
    if (code == GRPC_UNIMPLEMENTED)
        headers[count++] = header("grpc-accept-encoding", "identity");
    if (stream->call.request_id[0])
        headers[count++] = header("x-openstack-request-id", stream->call.request_id);
    submit(stream, headers, count, NULL);
}

/* nghttp2 copies the headers, and reads the message piece by piece. */
static ssize_t read_frame(nghttp2_session *session, int32_t id, uint8_t *room, size_t size,
                          uint32_t *flags, nghttp2_data_source *source, void *arg) {
    const nghttp2_nv trailers[] = { header("grpc-status", "0") };
    struct grpc_stream *stream = source->ptr;
    size_t left = stream->frame_size - stream->frame_sent;
    size_t taken = left < size ? left : size;

    (void)arg;
    memcpy(room, stream->frame + stream->frame_sent, taken);
    stream->frame_sent += taken;
    if (taken == left) {
        *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
        if (nghttp2_submit_trailer(session, id, trailers, LENGTH(trailers)) != 0)
            return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    return (ssize_t)taken;
}

/* ---- request ---- */

void grpc_stream_take_head(struct grpc_stream *stream) {
    const struct grpc_head *head = &stream->head;
    struct grpc_call *call = &stream->call;
    char uuid[UUID_SIZE];

    stream->entry = head->path ? grpc_methods_find(stream->server, head->path) : NULL;
    if (stream->head_refused)
        stream_refuse(stream, GRPC_RESOURCE_EXHAUSTED, "the headers are too large");
    else if (!head->post)
        answer_http(stream, "405");
    else if (!head->grpc)
        answer_http(stream, "415");
    else if (!stream->entry)
        stream_refuse(stream, GRPC_UNIMPLEMENTED, "unknown method");
    else if (!stream->entry->handler)
        stream_refuse(stream, GRPC_UNIMPLEMENTED, "this method is not offered");
    else if (head->bad_timeout)
        stream_refuse(stream, GRPC_INTERNAL, "the header grpc-timeout is malformed");
    else {
        call->service = stream->entry->arg;
        call->path = stream->entry->path;
        snprintf(call->request_id, sizeof(call->request_id), "req-%s",
                 clock_uuid(&clock_system, uuid));
        call->log.request_id = call->request_id;
    }
    if (stream->state == GRPC_ARRIVING && head->timeout_us >= 0) {
        stream->deadline_us = stream->since_us + head->timeout_us;
        stream->call.until_us = stream->deadline_us;
        grpc_server_look_at(stream->server, stream->deadline_us);
    }
}

/* Checks the message's length once the prefix is complete. */
static void take_prefix(struct grpc_stream *stream) {
    for (unsigned i = 1; i < GRPC_PREFIX_SIZE; i++)
        stream->length = stream->length << 8 | stream->prefix[i];
    if (stream->prefix[0] == 1)
        stream_refuse(stream, GRPC_UNIMPLEMENTED, "compressed messages are not understood");
    else if (stream->prefix[0] != 0)
        stream_refuse(stream, GRPC_INTERNAL, "the message's prefix is malformed");
    else if (stream->length > stream->server->message_limit)
        stream_refuse(stream, GRPC_RESOURCE_EXHAUSTED, "the request is too large");
}

/* Grows with the received bytes, not with the announced length. */
static bool make_room(struct grpc_stream *stream, size_t size) {
    struct grpc_server *server = stream->server;
    size_t room = stream->room > 0 ? stream->room : FIRST_ROOM;

    while (room < size)
        room *= 2;
    if (room == stream->room)
        return true;
    if (server->arriving_bytes + room - stream->room > server->most_waiting)
        return false;
    stream->body = heap_grow(stream->body, stream->room, room);
    server->arriving_bytes += room - stream->room;
    stream->room = room;
    return true;
}

void grpc_stream_take_body(struct grpc_stream *stream, const uint8_t *bytes, size_t size) {
    size_t have;

    while (size > 0 && stream->state == GRPC_ARRIVING && stream->received < GRPC_PREFIX_SIZE) {
        stream->prefix[stream->received++] = *bytes++;
        size--;
        if (stream->received == GRPC_PREFIX_SIZE)
            take_prefix(stream);
    }
    if (size == 0 || stream->state != GRPC_ARRIVING)
        return;
    have = stream->received - GRPC_PREFIX_SIZE;
    if (size > stream->length - have) {
        stream_refuse(stream, GRPC_INTERNAL, "there is more behind the message");
    } else if (!make_room(stream, have + size)) {
        stream_refuse(stream, GRPC_UNAVAILABLE, "too many requests arrive at once");
    } else {
        memcpy(stream->body + have, bytes, size);
        stream->received += size;
    }
}

void grpc_stream_take_end(struct grpc_stream *stream) {
    stream->ended = true;
    if (stream->state != GRPC_ARRIVING)
        return;
    if (stream->received == 0)
        stream_refuse(stream, GRPC_INTERNAL, "there is no message");
    else if (stream->received < GRPC_PREFIX_SIZE ||
             stream->received - GRPC_PREFIX_SIZE < stream->length)
        stream_refuse(stream, GRPC_INTERNAL, "the message is not whole");
    else if (stream->server->working >= MOST_WORKING)
        stream_refuse(stream, GRPC_UNAVAILABLE, "there is too much to do");
    else if (grpc_server_work(stream))
        grpc_stream_answer(stream);
}

/* ---- completion ---- */

void grpc_stream_answer(struct grpc_stream *stream) {
    struct grpc_server *server = stream->server;
    enum grpc_code code = grpc_code_of(stream->result, &stream->err);
    const nghttp2_nv headers[] = {
        header(":status", "200"),
        header("content-type", "application/grpc"),
        header("x-openstack-request-id", stream->call.request_id),
    };
    const nghttp2_data_provider data = { .source.ptr = stream, .read_callback = read_frame };

    if (!stream->connection) {
        grpc_stream_free(stream);
    } else if (stream->answered) {
        begin_answer(stream); /* closes the stream */
    } else if (grpc_call_is_over(&stream->call)) {
        stream_refuse(stream, GRPC_DEADLINE_EXCEEDED, "the deadline has passed");
    } else if (code != GRPC_OK) {
        stream_refuse(stream, code,
                      stream->result < 0 ? error_client_text(&stream->err) : stream->err.message);
    } else if (stream->frame_size > server->most_waiting - server->answer_bytes) {
        stream_refuse(stream, GRPC_UNAVAILABLE, "too many answers wait to be taken");
    } else {
        stream->counted_bytes = stream->frame_size;
        server->answer_bytes += stream->counted_bytes;
        submit(stream, headers, LENGTH(headers), &data);
    }
}

/* The handler continues with its own arena: the call is not touched. */
static void answer_before_handler(struct grpc_stream *stream, const char *code, const char *why) {
    const nghttp2_nv headers[] = { header(":status", "200"),
                                   header("content-type", "application/grpc"),
                                   header("grpc-status", code), header("grpc-message", why) };

    if (stream->answered)
        return;
    stream->answered = true;
    cancel(stream);
    if (nghttp2_submit_response(stream->connection->session, stream->id, headers, LENGTH(headers),
                                NULL) != 0)
        nghttp2_submit_rst_stream(stream->connection->session, NGHTTP2_FLAG_NONE, stream->id,
                                  NGHTTP2_CANCEL);
}

void grpc_stream_leave(struct grpc_stream *stream) {
    if (stream->state == GRPC_WORKED_ON)
        answer_before_handler(stream, "14", "the driver ends");
    else if (stream->state == GRPC_ARRIVING)
        stream_refuse(stream, GRPC_UNAVAILABLE, "the driver ends");
}

/* ---- time limits ---- */

bool grpc_stream_check_time(struct grpc_stream *stream, int64_t now_us) {
    int64_t patience_us = stream->since_us + stream->server->request_us;
    int64_t due = stream->deadline_us;

    if (stream->state == GRPC_ANSWERED)
        due = answer_due_us(stream);
    else if (stream->state == GRPC_WORKED_ON)
        due = stream->answered ? 0 : due;
    else if (due == 0 || due > patience_us)
        due = patience_us;
    if (due == 0)
        return true;
    if (now_us < due) {
        grpc_server_look_at(stream->server, due);
    } else if (stream->state == GRPC_WORKED_ON) {
        answer_before_handler(stream, "4", "the deadline has passed");
    } else if (stream->state == GRPC_ARRIVING) {
        stream_refuse(stream, GRPC_DEADLINE_EXCEEDED, "the request did not come in time");
    } else {
        nghttp2_submit_rst_stream(stream->connection->session, NGHTTP2_FLAG_NONE, stream->id,
                                  NGHTTP2_CANCEL);
        return false;
    }
    return true;
}
