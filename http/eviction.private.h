/*
 * Eviction policy when the connection limit is reached: the newest client is always admitted, and
 * of the connections that wait for their client the idlest is evicted.  The order: silent
 * connections without a complete request when there are many, connections between two requests,
 * connections that read their response, the remaining silent ones.  Connections that wait for the
 * server are never evicted.  If there is no candidate the new client is admitted to a spare slot:
 * it gets 503, and the health check 200.
 *
 * The caller holds the server's lock.
 */
#pragma once

#include "http/connection.private.h"

/* Slots beside the configured ones: for excess clients, and for evicted connections that are not
 * closed yet. */
#define HTTP_SPARE_SLOTS 64

/* A client has connected, or has gone.  Its address is in connection->address. */
void http_slots_join(struct http_server *server, struct http_connection *connection);
void http_slots_leave(struct http_server *server, struct http_connection *connection);
/* Gives a free slot to a connection in a spare one. */
void http_slots_promote(struct http_server *server, struct http_connection *connection);
/* Evicts connections that exceed the time limit of their turn. */
void http_evict_slow(struct http_server *server);
/* Evicts the slowest reader of the address with most response bytes, if these exceed `least`. NULL:
 * there is none. */
struct http_connection *http_evict_reader(struct http_server *server, size_t least);
/* Evicts all connections. */
void http_evict_all(struct http_server *server);
