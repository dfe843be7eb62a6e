/*
 * The thread that accepts a server's clients, as many as there is room for (crowd.private.h makes
 * it), and has those shown out that are too slow.
 *
 * libmicrohttpd could accept by itself, but its threads fight for clients, so that one may get most
 * of them, and it aborts the program when it is told to stop accepting (MHD_quiesce_daemon) while a
 * thread of its pool does so already.  Handed over, clients are dealt out to the threads in turn.
 */
#pragma once

#include "http/connection.private.h"

/* Starts the thread; `fd` listens, and is the acceptor's when this succeeds.  0, or an errno. */
int http_acceptor_open(struct http_server *server, int fd);
/* Nobody is let in from now on; who waits outside is refused. */
void http_acceptor_shut(struct http_server *server);
/* Ends the thread. */
void http_acceptor_close(struct http_server *server);
/* A connection is with its thread; one has ended.  Called with the server's lock held. */
void http_acceptor_one_arrived(struct http_server *server);
void http_acceptor_one_left(struct http_server *server);
