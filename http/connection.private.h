/*
 * The server's side of one client connection: reads a request whole, hands it to the handler of its
 * mount and brings the reply back to libmicrohttpd's thread.
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

/* See reply.private.h. */
enum reply_state { REPLY_OPEN, REPLY_AWAITED, REPLY_GIVEN, REPLY_ABANDONED };

/* Who has to do something now. */
enum http_turn {
    HTTP_TURN_OURS,
    HTTP_TURN_REQUEST, /* the client: connected, or in the midst of its request */
    HTTP_TURN_ANSWER,  /* the client: it takes its answer */
    HTTP_TURN_IDLE,    /* the client: it has its answer */
    HTTP_TURN_OVER,    /* nobody: it was shown out, whatever it says is not heard any more */
    HTTP_TURN_COUNT
};

/* See crowd.private.h. */
enum http_place { HTTP_PLACE_NONE, HTTP_PLACE_OWN, HTTP_PLACE_CROWDED };

/* All who come from one address, or of one user of this machine, behind which there may be a
 * proxy with many clients. */
struct http_neighbour {
    struct http_address address;
    unsigned connections, seated; /* with a place of their own */
    size_t answer_bytes;          /* see answers.private.h */
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

/* One client connection; its requests come one after the other and share its memory. */
struct http_connection {
    struct http_exchange exchange; /* of the request at hand */
    struct http_server *server;
    struct MHD_Connection *mhd;
    pthread_t thread;     /* libmicrohttpd's, which works on it */
    pthread_mutex_t lock; /* `mhd` is only looked into with it held and the state not ABANDONED */
    _Atomic enum reply_state state;
    atomic_uint owners; /* the connection, and an abandoned exchange: the last one frees */
    _Atomic enum http_turn turn;
    _Atomic int64_t since_us; /* when that began */
    char *client;             /* of the heap: whose certificate it has shown; NULL: not yet */
    bool in_request; /* between http_connection_begin() and _end(): `exchange` is of a request */
    bool headers_seen;
    bool handed_over;                 /* the handler was called */
    bool slept;                       /* waited for its reply with a timeout of its own */
    bool seated;                      /* has had a place of its own when it was last asked */
    bool last;                        /* no request follows the one at hand */
    struct connection_stream *stream; /* the answer is in pieces and not queued yet; or NULL */
    size_t target;                    /* length of the request target as sent */
    size_t body_room;
    uint64_t excess;            /* bytes thrown away */
    atomic_size_t answer_bytes; /* see answers.private.h; changed with the server's lock */
    char peer[INET6_ADDRSTRLEN];
    enum http_place place;            /* these two with the server's lock held */
    struct http_neighbour *neighbour; /* lives as long as a connection of it */
    LIST_ENTRY(http_connection) all;
    LIST_ENTRY(http_connection) awaiting;
};

LIST_HEAD(http_connections, http_connection);
LIST_HEAD(http_streams, connection_stream);

struct http_server {
    struct arena *arena; /* of this struct and what never changes */
    struct MHD_Daemon *daemon;
    struct mount *mounts; /* longest prefix first */
    size_t mount_count;
    size_t body_limit;
    unsigned port, idle_seconds, request_seconds;
    struct http_tls tls;
    atomic_bool stopping;
    atomic_uint open; /* exchanges between handler and end of their answer */

    unsigned tick_seconds;

    pthread_t acceptor;
    int acceptor_fd, acceptor_wake;             /* listens; an eventfd */
    int hangups;                                /* an epoll of the sockets of streams */
    struct unix_socket unix_socket;             /* the acceptor's file, or none */
    unsigned most_connections, most_of_address; /* the latter 0: no limit of its own */
    atomic_bool acceptor_closes;

    pthread_mutex_t lock;   /* guards the rest */
    pthread_cond_t changed; /* fewer open, awaited, arriving or there */
    bool abandoning;
    bool acceptor_full;       /* somebody may wait outside */
    unsigned connections;     /* those of `all`, and those on the way to it: */
    unsigned arriving;        /* handed to libmicrohttpd, whose thread has not seen them yet */
    unsigned seated, crowded; /* of `all`, by their place */
    uintmax_t shown_out;      /* so far */
    struct http_neighbours neighbours[HTTP_NEIGHBOUR_BUCKETS];
    struct http_connections all, awaiting;
    struct http_streams streams; /* see stream.private.h */
    uint64_t last_stream;        /* number of the newest one */
    size_t answer_bytes, most_answer_bytes;
};

/* What libmicrohttpd calls; `arg` is the server, *context of a request its connection. */
void http_connection_notice(void *arg, struct MHD_Connection *mhd, void **context,
                            enum MHD_ConnectionNotificationCode code);
void *http_connection_begin(void *arg, const char *uri, struct MHD_Connection *mhd);
enum MHD_Result http_connection_serve(void *arg, struct MHD_Connection *mhd, const char *url,
                                      const char *method, const char *version, const char *upload,
                                      size_t *upload_size, void **context);
void http_connection_end(void *arg, struct MHD_Connection *mhd, void **context,
                         enum MHD_RequestTerminationCode code);

/* Hands an exchange that is malformed over to whoever answers such, at once; false: nobody does. */
bool http_connection_refuse(struct http_connection *connection);
/* False: it was shown out. */
bool http_connection_take_turn(struct http_connection *connection, enum http_turn turn);
/* One owner has done with it. */
void http_connection_release(struct http_connection *connection);
