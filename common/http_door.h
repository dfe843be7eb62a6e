/*
 * The thread at a server's door: lets clients in, as many as there is room for (http_crowd.h makes
 * it), and has those shown out that are too slow.  Private to http_server.c.
 *
 * libmicrohttpd could accept by itself, but its threads fight for clients, so that one may get most
 * of them, and it aborts the program when it is told to stop accepting (MHD_quiesce_daemon) while a
 * thread of its pool does so already.  Handed over, clients are dealt out to the threads in turn.
 */
#pragma once

#include "common/http_connection.h"

/* Starts the thread; `fd` listens, and is the door's when this succeeds.  0, or an errno. */
int http_door_open(struct http_server *server, int fd);
/* Nobody is let in from now on; who waits outside is refused. */
void http_door_shut(struct http_server *server);
/* Ends the thread. */
void http_door_close(struct http_server *server);
/* A connection is with its thread; one has ended.  Called with the server's lock held. */
void http_door_one_arrived(struct http_server *server);
void http_door_one_left(struct http_server *server);
