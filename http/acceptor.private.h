/*
 * The thread that accepts the clients of a server within its limits (eviction.private.h), and
 * evicts slow ones.
 *
 * libmicrohttpd could accept by itself, but its threads compete for clients, so that one may get
 * most of them, and it aborts the program when it is told to stop accepting (MHD_quiesce_daemon)
 * while one of its threads accepts.  Clients that are handed over are distributed round-robin.
 */
#pragma once

#include "http/connection.private.h"

/* Starts the thread; on success it owns the listening socket `fd`. 0, or an errno. */
int http_acceptor_open(struct http_server *server, int fd);
/* Stops accepting; waiting clients are refused. */
void http_acceptor_shut(struct http_server *server);
/* Ends the thread. */
void http_acceptor_close(struct http_server *server);
/* A connection has reached its thread; one has ended.  The caller holds the server's lock. */
void http_acceptor_one_arrived(struct http_server *server);
void http_acceptor_one_left(struct http_server *server);
