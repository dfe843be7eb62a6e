/*
 * How the reply of one exchange and its connection meet.  The thread of the connection asks for the
 * reply when the handler has returned; http_reply() may come from any thread at any time.
 *
 *     OPEN ──http_reply()──────────────────────────> GIVEN      found when the handler returns
 *     OPEN ──handler returned──> AWAITED ──reply()─> GIVEN      the connection is resumed
 *                                AWAITED ──stop────> ABANDONED  503; memory waits for http_reply()
 *
 * Every step is one compare-and-exchange.  Into AWAITED it is taken with the server's lock held, in
 * one piece with the suspension; a step out of AWAITED resumes the connection under that
 * lock.  The server is not freed while a connection stands in `awaiting`.
 */
#pragma once

#include "http/connection.private.h"

/* Functions of http_exchange. */
const char *http_reply_find_header(const struct http_exchange *exchange, const char *name);
void http_reply_take(struct http_exchange *exchange);
bool http_reply_client_left(const struct http_exchange *exchange);

/* The handler has returned.  True: the connection is suspended until the reply. */
bool http_reply_await(struct http_connection *connection);
/* Is or was the connection suspended with a timeout of its own? */
void http_reply_own_timeout(struct http_connection *connection, bool own);

enum MHD_Result http_reply_queue(struct http_connection *connection);
/* Replies without a handler: no path or mount for it, or abandoned. */
enum MHD_Result http_reply_queue_plain(struct http_connection *connection, int status);

/* Abandons each suspended exchange, now and later; returns when no connection is suspended.  The
 * caller holds the server's lock: libmicrohttpd must not be stopped with suspended connections. */
void http_reply_abandon_awaited(struct http_server *server);
