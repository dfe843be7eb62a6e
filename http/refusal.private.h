/*
 * A length that is none libmicrohttpd 0.9 refuses by itself, before anybody sees the head: with a
 * page of its own, whose head it sends twice.  It tells its log of that first, in the thread that
 * works on the connection, and there we answer in its stead: what it sends afterwards finds a
 * socket that takes no more.  Later versions say it once.
 */
#pragma once

#include "http/connection.private.h"

#include <stdarg.h>

/* libmicrohttpd's log, which is kept for nothing else; `arg` is the server. */
void http_refusal_logged(void *arg, const char *format, va_list values);
