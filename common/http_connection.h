/*
 * The server's side of one client connection: reads a request whole, hands it to the handler of its
 * mount and brings the reply back to libmicrohttpd's thread.  Private to http_server.c.
 */
#pragma once

#include "common/http_server.h"
#include "common/http_tls.h"

#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/queue.h>

/*
 * How the reply of one exchange and its connection meet.  The thread of the connection asks for the
 * reply when the handler has returned; http_reply() may come from any thread at any time.
 *
 *     OPEN ──http_reply()──────────────────────────> GIVEN      found when the handler returns
 *     OPEN ──handler returned──> AWAITED ──reply()─> GIVEN      the connection is resumed
 *                                AWAITED ──stop────> ABANDONED  503; memory waits for http_reply()
 *
 * Every step is one compare-and-exchange.  Into AWAITED it is taken with the server's lock held, in
 * one piece with the suspension; who takes a step out of AWAITED resumes the connection under that
 * lock.  The server is not freed while a connection stands in `awaiting`.
 */
enum reply_state { REPLY_OPEN, REPLY_AWAITED, REPLY_GIVEN, REPLY_ABANDONED };

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
    pthread_mutex_t lock; /* `mhd` is only looked into with it held and the state not ABANDONED */
    _Atomic enum reply_state state;
    atomic_uint owners;  /* the connection, and an abandoned exchange: the last one frees */
    atomic_uint since;   /* tick when it last became the client's turn; 0: it is ours */
    bool client_trusted; /* its certificate was looked at */
    bool headers_seen;
    bool handed_over; /* the handler was called */
    bool slept;       /* waited for its reply with a timeout of its own */
    bool last;        /* no request follows the one at hand */
    size_t target;    /* length of the request target as sent */
    size_t body_room;
    uint64_t excess; /* bytes thrown away */
    char peer[INET6_ADDRSTRLEN];
    LIST_ENTRY(http_connection) all;
    LIST_ENTRY(http_connection) awaiting;
};

LIST_HEAD(http_connections, http_connection);

struct http_server {
    struct arena *arena; /* of this struct and what never changes */
    struct MHD_Daemon *daemon;
    struct mount *mounts; /* longest prefix first */
    size_t mount_count;
    size_t body_limit;
    unsigned port, idle_seconds;
    struct http_tls tls;
    atomic_bool stopping;
    atomic_uint open; /* exchanges between handler and end of their answer */

    unsigned tick_seconds, most_ticks;
    atomic_uint tick;

    pthread_t door;
    int door_fd, door_wake; /* listens; an eventfd */
    unsigned most_connections;
    atomic_bool door_closes;

    pthread_mutex_t lock;   /* guards the rest */
    pthread_cond_t changed; /* fewer open, awaited or arriving */
    bool abandoning;
    bool door_full;       /* somebody may wait outside */
    unsigned connections; /* those of `all`, and those on the way to it: */
    unsigned arriving;    /* handed to libmicrohttpd, whose thread has not seen them yet */
    struct http_connections all, awaiting;
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

/* Gives up every exchange that somebody sleeps for, now and later; returns when none sleeps.
 * Called with the server's lock held: libmicrohttpd must not be stopped with suspended
 * connections. */
void http_connection_abandon_awaited(struct http_server *server);
