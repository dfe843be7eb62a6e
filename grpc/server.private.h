/*
 * The server, its connections and their calls.
 *
 * Owned by the I/O thread, except `done` and what is marked otherwise.  A call in the state
 * WORKED_ON belongs to its worker until it is in `done`; the I/O thread only sets its
 * call.until_us.
 */
#pragma once

#include "grpc/head.private.h"
#include "grpc/message.private.h"
#include "grpc/server.h"

#include <nghttp2/nghttp2.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

struct worker_pool;

/* A row of a service, by its path. */
struct grpc_entry {
    const char *path;
    const ProtobufCMessageDescriptor *request, *response;
    grpc_handler *handler; /* NULL: calls end with UNIMPLEMENTED */
    bool quick, ahead;
    void *arg;
};

enum grpc_state {
    GRPC_ARRIVING,  /* the client sends its request */
    GRPC_WORKED_ON, /* a worker handles it */
    GRPC_ANSWERED,  /* the client reads its response */
};

/* One call: an HTTP/2 stream. */
struct grpc_stream {
    struct grpc_call call;
    struct grpc_server *server;
    struct grpc_connection *connection; /* NULL: the stream is closed, the response has no reader */
    int32_t id;
    enum grpc_state state;
    const struct grpc_entry *entry;
    struct grpc_head head;
    bool head_refused;
    bool ended;          /* the client has sent everything */
    bool answered;       /* the result was already sent while a worker has the call */
    int64_t since_us;    /* start of the request, or of the response */
    int64_t deadline_us; /* of the client; 0: none */

    uint8_t prefix[GRPC_PREFIX_SIZE];
    uint32_t length; /* of the message, once the prefix is complete */
    size_t received; /* including the prefix */
    uint8_t *body;
    size_t room;

    int result; /* of the handler */
    struct error err;
    uint8_t *frame; /* the packed response */
    size_t frame_size, frame_sent;
    size_t counted_bytes; /* of the server's answer_bytes */

    LIST_ENTRY(grpc_stream) next; /* of the connection */
    LIST_ENTRY(grpc_stream) at_work;
    STAILQ_ENTRY(grpc_stream) done;
};

LIST_HEAD(grpc_streams, grpc_stream);
STAILQ_HEAD(grpc_done, grpc_stream);

/* Burst, and rate per second. */
struct grpc_allowance {
    int64_t left, most, per_second, filled_us;
};

#define GRPC_OUT_SIZE ((size_t)32 * 1024)

struct grpc_connection {
    struct grpc_server *server;
    int fd;
    nghttp2_session *session;
    uid_t uid;
    gid_t gid;
    pid_t pid;
    bool greeted;        /* the HTTP/2 preface has arrived */
    bool called;         /* a request has arrived */
    bool waits_for_room; /* the socket is full */
    int64_t since_us;    /* connected, or the last progress in writing */
    struct grpc_streams streams;
    struct grpc_allowance idle_frames, resets, large_heads;
    size_t block_size; /* decoded so far of the current block of headers */
    size_t out_size, out_sent;
    LIST_ENTRY(grpc_connection) next;
    uint8_t out[GRPC_OUT_SIZE];
};

LIST_HEAD(grpc_connections, grpc_connection);

struct grpc_server {
    struct arena *arena; /* of this struct and its constant parts */
    struct grpc_entry *entries;
    size_t entry_count;
    unsigned most_connections, most_streams;
    size_t message_limit, most_waiting;
    int64_t request_us, answer_us;
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *option;

    struct unix_socket socket;
    int listener, poll, wake; /* wake: an eventfd */
    struct worker_pool *pool, *ahead;
    unsigned workers; /* threads of the pool */
    pthread_t loop;

    struct grpc_connections connections;
    unsigned connection_count;
    struct grpc_streams at_work;
    unsigned working; /* their number */
    size_t arriving_bytes, answer_bytes;
    int64_t next_us; /* when time limits must be checked next; 0: never */
    bool deaf;       /* out of descriptors: paused accepting */
    bool leaving;
    int64_t end_us; /* end of the grace period */
    bool cut;       /* it is over, and clients have been answered */

    atomic_bool stopping;
    _Atomic int64_t grace_us;
    pthread_mutex_t lock; /* guards the members below */
    struct grpc_done done;
};

/* ---- connection.c ---- */

/* Takes over the socket. */
void grpc_connection_open(struct grpc_server *server, int fd);
/* The socket is readable, or writable. */
void grpc_connection_serve(struct grpc_connection *connection, uint32_t events);
/* Writes pending output; closes an idle connection that is to end: it may be gone. */
void grpc_connection_flush(struct grpc_connection *connection);
void grpc_connection_close(struct grpc_connection *connection);
/* Accepts no new calls; the connection closes after the running ones. */
void grpc_connection_leave(struct grpc_connection *connection);
/* Applies time limits; the connection may be gone. */
void grpc_connection_check_time(struct grpc_connection *connection, int64_t now_us);
int grpc_connection_callbacks(nghttp2_session_callbacks **ret);

/* ---- stream.c ---- */

struct grpc_stream *grpc_stream_begin(struct grpc_connection *connection, int32_t id);
/* The headers are complete. */
void grpc_stream_take_head(struct grpc_stream *stream);
void grpc_stream_take_body(struct grpc_stream *stream, const uint8_t *bytes, size_t size);
/* The request is complete. */
void grpc_stream_take_end(struct grpc_stream *stream);
/* A worker has finished it. */
void grpc_stream_answer(struct grpc_stream *stream);
/* A closed stream is freed when no worker has it. */
void grpc_stream_close(struct grpc_stream *stream);
void grpc_stream_free(struct grpc_stream *stream);
/* Applies the time limits of request, handler and response; false: of reading the response. */
bool grpc_stream_check_time(struct grpc_stream *stream, int64_t now_us);
/* The grace period is over. */
void grpc_stream_leave(struct grpc_stream *stream);

/* ---- methods.c ---- */

void grpc_methods_add(struct grpc_server *server, const struct grpc_server_settings *settings);
const struct grpc_entry *grpc_methods_find(const struct grpc_server *server, const char *path);

/* ---- work.c ---- */

/* Time limits are checked by then. */
void grpc_server_look_at(struct grpc_server *server, int64_t instant_us);
/* Wakes the I/O thread. */
void grpc_server_wake(struct grpc_server *server);
/* A complete call: for the pool; true: a quick one is finished. */
bool grpc_server_work(struct grpc_stream *stream);
