/*
 * The server, its connections and their calls.
 *
 * All of it is the loop's alone, but for `done` and what says so.  A call that a worker has (state
 * WORKED_ON) is the worker's until it stands in `done`; of it the loop only sets call.until_us.
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

/* A row of a service, found by its path. */
struct grpc_entry {
    const char *path;
    const ProtobufCMessageDescriptor *request, *response;
    grpc_handler *handler; /* NULL: it is not offered */
    bool quick, ahead;
    void *arg;
};

enum grpc_state {
    GRPC_ARRIVING,  /* the client's turn: its request is not whole */
    GRPC_WORKED_ON, /* ours */
    GRPC_ANSWERED,  /* the client's: it takes its answer */
};

/* One call: an HTTP/2 stream. */
struct grpc_stream {
    struct grpc_call call;
    struct grpc_server *server;
    struct grpc_connection *connection; /* NULL: the stream is closed, nobody reads an answer */
    int32_t id;
    enum grpc_state state;
    const struct grpc_entry *entry;
    struct grpc_head head;
    bool head_refused;
    bool ended;          /* the client sends nothing more */
    bool told;           /* how it ends, while a worker has it */
    int64_t since_us;    /* begun, or answered */
    int64_t deadline_us; /* as the client said; 0: none */

    uint8_t prefix[GRPC_PREFIX_SIZE];
    uint32_t length; /* of the message, when the prefix is whole */
    size_t received; /* with the prefix */
    uint8_t *body;
    size_t room;

    int result; /* of the handler */
    struct error err;
    uint8_t *frame; /* what it has answered */
    size_t frame_size, frame_sent;
    size_t counted_bytes; /* of the server's answer_bytes */

    LIST_ENTRY(grpc_stream) next; /* of the connection's */
    LIST_ENTRY(grpc_stream) at_work;
    STAILQ_ENTRY(grpc_stream) done;
};

LIST_HEAD(grpc_streams, grpc_stream);
STAILQ_HEAD(grpc_done, grpc_stream);

/* So many at once, and so many again each second. */
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
    bool greeted;        /* HTTP/2 has come */
    bool called;         /* a request has come */
    bool waits_for_room; /* the socket takes no more for now */
    int64_t since_us;    /* connected, or what is written has moved */
    struct grpc_streams streams;
    struct grpc_allowance idle_frames, resets, large_heads;
    size_t block_size; /* decoded so far of the block of headers at hand */
    size_t out_size, out_sent;
    LIST_ENTRY(grpc_connection) next;
    uint8_t out[GRPC_OUT_SIZE];
};

LIST_HEAD(grpc_connections, grpc_connection);

struct grpc_server {
    struct arena *arena; /* of this struct and what never changes */
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
    pthread_t loop;

    struct grpc_connections connections;
    unsigned connection_count;
    struct grpc_streams at_work;
    unsigned working; /* how many these are */
    size_t arriving_bytes, answer_bytes;
    int64_t next_us; /* when the clock must be looked at, at the latest; 0: never */
    bool deaf;       /* there are no descriptors: it does not listen for a moment */
    bool leaving;
    int64_t end_us; /* when it leaves: by then all is over */
    bool cut;       /* it was over, and who waited has been told */

    atomic_bool stopping;
    _Atomic int64_t grace_us;
    pthread_mutex_t lock; /* guards the rest */
    struct grpc_done done;
};

/* ---- connection.c ---- */

/* Takes the socket over. */
void grpc_connection_open(struct grpc_server *server, int fd);
/* The socket can be read, or written. */
void grpc_connection_serve(struct grpc_connection *connection, uint32_t events);
/* Writes what there is; closes a connection that has nothing to do any more: it may be gone. */
void grpc_connection_flush(struct grpc_connection *connection);
void grpc_connection_close(struct grpc_connection *connection);
/* No new calls on it; it closes when those that run have ended. */
void grpc_connection_leave(struct grpc_connection *connection);
/* Ends what has taken too long; it may be gone. */
void grpc_connection_check_time(struct grpc_connection *connection, int64_t now_us);
int grpc_connection_callbacks(nghttp2_session_callbacks **ret);

/* ---- stream.c ---- */

struct grpc_stream *grpc_stream_begin(struct grpc_connection *connection, int32_t id);
/* The headers are whole. */
void grpc_stream_take_head(struct grpc_stream *stream);
void grpc_stream_take_body(struct grpc_stream *stream, const uint8_t *bytes, size_t size);
/* The client has said all. */
void grpc_stream_take_end(struct grpc_stream *stream);
/* A worker has done with it. */
void grpc_stream_answer(struct grpc_stream *stream);
/* What nobody hears any more goes when nobody works on it any more. */
void grpc_stream_close(struct grpc_stream *stream);
void grpc_stream_free(struct grpc_stream *stream);
/* Too late in coming, in being answered or in being taken; false: in being taken. */
bool grpc_stream_check_time(struct grpc_stream *stream, int64_t now_us);
/* The server goes, and has given it all the time that there was. */
void grpc_stream_leave(struct grpc_stream *stream);

/* ---- methods.c ---- */

void grpc_methods_add(struct grpc_server *server, const struct grpc_server_settings *settings);
const struct grpc_entry *grpc_methods_find(const struct grpc_server *server, const char *path);

/* ---- server.c ---- */

/* The clock is looked at by then. */
void grpc_server_look_at(struct grpc_server *server, int64_t instant_us);
/* A call that is whole: for the pool, unless it is quick. */
void grpc_server_work(struct grpc_stream *stream);
