/*
 * Streams on the server's side: where http_stream_put() and libmicrohttpd's thread meet.
 *
 * The writer and the connection each own a stream until the one has ended it and the other has sent
 * it, or is gone.  While nothing waits the connection sleeps; who puts something wakes it.  The
 * lock of a stream may be held when the server's is taken, never the other way round.
 */
#pragma once

#include "http/connection.private.h"

/* Of http_exchange. */
struct http_stream *http_connection_stream(struct http_exchange *exchange);

/* Its pieces, as libmicrohttpd asks for them: the response owns the stream now. */
struct MHD_Response *http_stream_response(struct connection_stream *stream);
/* The connection has done with it. */
void http_stream_over(struct connection_stream *stream);

/* Ends all in good order, at once: the server stops. */
void http_streams_end(struct http_server *server);
/* server->hangups is readable: ends the streams whose clients have gone while nothing was sent. */
void http_streams_take_hangups(struct http_server *server);
