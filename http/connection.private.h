/*
 * The server's side of one client connection: reads a whole request, passes it to the handler of
 * its mount and returns the reply to libmicrohttpd's thread.
 */
#pragma once

#include "http/exchange.h"
#include "http/peer.private.h"
#include "http/tls.private.h"
#include "http/unix_socket.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/queue.h>

/* Of libmicrohttpd: request line, headers and cookies of one request, and the headers of its
 * response. */
#define HTTP_CONNECTION_MEMORY ((size_t)20 * 1024)

/* See reply.private.h. */
enum reply_state { REPLY_OPEN, REPLY_AWAITED, REPLY_GIVEN, REPLY_ABANDONED };

/* The side that must act next. */
enum http_turn {
    HTTP_TURN_OURS,
    HTTP_TURN_REQUEST, /* the client: connected, or sending its request */
    HTTP_TURN_ANSWER,  /* the client: reading the response */
    HTTP_TURN_IDLE,    /* the client: between two requests */
    HTTP_TURN_OVER,    /* none: evicted, further input is ignored */
    HTTP_TURN_COUNT
};

/* See eviction.private.h. */
enum http_slot { HTTP_SLOT_NONE, HTTP_SLOT_OWN, HTTP_SLOT_SPARE };

/* All clients of one address, or of one user of this machine; it may be a proxy with many
 * clients. */
struct http_neighbour {
    struct http_address address;
    unsigned connections, with_slot; /* with a slot of their own */
    size_t answer_bytes;             /* see answers.private.h */
    LIST_ENTRY(http_neighbour) next;
};

#define HTTP_NEIGHBOUR_BUCKETS 64
LIST_HEAD(http_neighbours, http_neighbour);

struct connection_stream;

struct mount {
    const char *prefix;
    size_t length;
    http_handler *handler;
    void *arg;
};

/* One client connection; its requests are sequential.  Between them `exchange` has no arena. */
struct http_connection {
    struct http_exchange exchange; /* the current request */
    struct http_server *server;
    struct MHD_Connection *mhd;
    pthread_t thread;     /* the thread of libmicrohttpd that serves it */
    pthread_mutex_t lock; /* held while another thread uses `mhd`, which is not used in the state
                           * ABANDONED */
    _Atomic enum reply_state state;
    atomic_uint owners; /* the connection and an abandoned exchange: the last one frees it */
    _Atomic enum http_turn turn;
    _Atomic int64_t since_us; /* start of the current turn */
    char *client;             /* on the heap: name in the client's certificate; NULL: not checked
                               * yet */
    bool in_request; /* between http_connection_begin() and _end(): `exchange` is of a request */
    bool headers_seen;
    bool handed_over;                 /* the handler was called */
    bool slept;                       /* has waited for its reply with its own timeout */
    bool has_slot;                    /* last known: has a slot of its own */
    bool last;                        /* the current request is the last one */
    struct connection_stream *stream; /* a streamed response not queued yet; or NULL */
    size_t target;                    /* length of the request target as sent */
    size_t body_room;
    uint64_t excess;            /* bytes dropped */
    atomic_size_t answer_bytes; /* see answers.private.h; changed with the server's lock held */
    char peer[INET6_ADDRSTRLEN];
    enum http_slot slot;              /* these two with the server's lock held */
    struct http_neighbour *neighbour; /* lives as long as a connection of it */
    LIST_ENTRY(http_connection) all;
    LIST_ENTRY(http_connection) awaiting;
};

LIST_HEAD(http_connections, http_connection);
LIST_HEAD(http_streams, connection_stream);

struct http_server {
    struct arena *arena; /* of this struct and its constant parts */
    struct MHD_Daemon *daemon;
    struct mount *mounts; /* longest prefix first */
    size_t mount_count;
    size_t body_limit;
    unsigned port, idle_seconds, request_seconds;
    struct http_tls tls;
    bool (*refuse)(struct http_connection *connection); /* http_connection_refuse() */
    atomic_bool stopping;
    atomic_uint open; /* exchanges from the handler to the end of the response */

    unsigned tick_seconds;

    pthread_t acceptor;
    int acceptor_fd, acceptor_wake;             /* the listening socket; an eventfd */
    int hangups;                                /* epoll of the sockets of streams */
    struct unix_socket unix_socket;             /* socket file of the acceptor, or none */
    unsigned most_connections, most_of_address; /* most_of_address 0: unlimited */
    atomic_bool acceptor_closes;

    pthread_mutex_t lock;   /* guards the members below */
    pthread_cond_t changed; /* a decrease of open, awaited, arriving or connections */
    bool abandoning;
    bool acceptor_full;        /* clients may wait in the backlog */
    unsigned connections;      /* in `all` and on the way to it: */
    unsigned arriving;         /* handed to libmicrohttpd, not seen by its thread yet */
    unsigned with_slot, spare; /* of `all`, by slot */
    uintmax_t evicted;         /* total evictions */
    struct http_neighbours neighbours[HTTP_NEIGHBOUR_BUCKETS];
    struct http_connections all, awaiting;
    struct http_streams streams; /* see stream.private.h */
    uint64_t last_stream;        /* number of the newest stream */
    size_t answer_bytes, most_answer_bytes;
};

/* Callbacks of libmicrohttpd; `arg` is the server, *context of a request its connection. */
void http_connection_notice(void *arg, struct MHD_Connection *mhd, void **context,
                            enum MHD_ConnectionNotificationCode code);
void *http_connection_begin(void *arg, const char *uri, struct MHD_Connection *mhd);
enum MHD_Result http_connection_serve(void *arg, struct MHD_Connection *mhd, const char *url,
                                      const char *method, const char *version, const char *upload,
                                      size_t *upload_size, void **context);
void http_connection_end(void *arg, struct MHD_Connection *mhd, void **context,
                         enum MHD_RequestTerminationCode code);

/* Passes a malformed exchange to the handler of such requests; false: there is none. */
bool http_connection_refuse(struct http_connection *connection);

/* ---- turn.c ---- */

/* False: it was evicted. */
bool http_connection_take_turn(struct http_connection *connection, enum http_turn turn);
/* An owner releases its reference. */
void http_connection_release(struct http_connection *connection);
