/*
 * libmicrohttpd 0.9 refuses a malformed Content-Length by itself, before any handler, with its own
 * page, whose head it sends twice.  It logs that first, in the thread of the connection: there the
 * service answers instead, and closes the socket to what libmicrohttpd sends afterwards.  Later
 * versions send it once.
 */
#pragma once

#include "http/connection.private.h"

#include <stdarg.h>

/* Log callback of libmicrohttpd, used for nothing else; `arg` is the server. */
void http_refusal_logged(void *arg, const char *format, va_list values);
