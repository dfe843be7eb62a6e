/*
 * Who may stay when there are more clients than places: the newest is let in always, and of those
 * whose turn it is to do something the idlest goes.  Silent ones, who have not said a whole request
 * yet, go first when there are many of them; then those that are between two requests, then those
 * that take their answer; a few silent ones, who may just have come, last.  Nobody goes who waits
 * for us.  Who finds nobody to go is in, but crowded: some places beside the rest are for them, so
 * that they hear 503, and the health check 200.
 *
 * Called with the server's lock held.
 */
#pragma once

#include "http/connection.private.h"

/* Places beside those that are configured: for the crowded, and for who has been shown out and is
 * not gone yet. */
#define HTTP_CROWD_SPARE 64

/* A client is there, or gone.  Its address is in connection->address. */
void http_crowd_join(struct http_server *server, struct http_connection *connection);
void http_crowd_leave(struct http_server *server, struct http_connection *connection);
/* Has a place become free for one that was crowded? */
void http_crowd_settle(struct http_server *server, struct http_connection *connection);
/* Shows out who takes longer than its turn may last. */
void http_crowd_cut_slow(struct http_server *server);
/* Shows out the slowest of those at their answers, of the address that holds most room for them,
 * when that is more than `least` bytes.  NULL: there is none. */
struct http_connection *http_crowd_cut_taker(struct http_server *server, size_t least);
/* Everybody has to go. */
void http_crowd_end(struct http_server *server);
