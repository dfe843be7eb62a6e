/*
 * libmicrohttpd 0.9 refuses a malformed Content-Length, and a head with fields or cookies that
 * exceed its memory, by itself, before any handler, with its own page; it sends the head of that
 * twice.  It logs that first, in the thread of the connection: there the service answers instead,
 * and closes the socket to what libmicrohttpd sends afterwards.  Later versions send it once.
 */
#pragma once

#include "http/connection.private.h"

#include <stdarg.h>

/* A request with a head that leaves no memory for the headers of a response would be executed and
 * not answered.  True: it is refused, and the connection is to be closed. */
bool http_refusal_for_memory(struct http_connection *connection);
/* Log callback of libmicrohttpd, used for nothing else; `arg` is the server. */
void http_refusal_logged(void *arg, const char *format, va_list values);
