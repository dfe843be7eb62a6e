/*
 * Streams on the server's side: http_stream_put() and libmicrohttpd's thread.
 *
 * Writer and connection each own a stream until the writer has ended it and the connection has sent
 * it, or is gone.  Without pending pieces the connection sleeps; a new piece wakes it.  Lock order:
 * a stream's before the server's.
 */
#pragma once

#include "http/connection.private.h"

/* Function of http_exchange. */
struct http_stream *http_connection_stream(struct http_exchange *exchange);

/* The pieces, read by libmicrohttpd: the response owns the stream from now on. */
struct MHD_Response *http_stream_response(struct connection_stream *stream);
/* The connection releases its reference. */
void http_stream_over(struct connection_stream *stream);

/* Ends all streams after their pending pieces: the server stops. */
void http_streams_end(struct http_server *server);
/* server->hangups is readable: ends the streams whose clients have gone while nothing was sent. */
void http_streams_take_hangups(struct http_server *server);
