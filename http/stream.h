/*
 * A streamed response, which lasts until its writer, its client or the server ends it.
 *
 * A piece waits in memory until the client has read it: up to HTTP_STREAM_ROOM bytes, or a single
 * larger one, for which other responses may leave no space.  The writer of a full stream is woken
 * when there is space, or retries later.  A client that reads nothing for the idle timeout is
 * closed, and so is, within some seconds, one that has gone or shut its sending side; a stream
 * without pending pieces is not.
 *
 * A stream has one writer at a time, of any thread.
 */
#pragma once

#include "http/exchange.h"

#define HTTP_STREAM_ROOM ((size_t)64 * 1024)

enum http_stream_state {
    HTTP_STREAM_TAKEN, /* queued */
    HTTP_STREAM_FULL,  /* not queued: the client must read the pending pieces first */
    HTTP_STREAM_OVER,  /* not queued: the client has gone */
};

/* Implementation: the server's, or a test's. */
struct http_stream {
    enum http_stream_state (*put)(struct http_stream *stream, const char *bytes, size_t size);
    void (*end)(struct http_stream *stream);
    /* Called when there is space after HTTP_STREAM_FULL and when the stream is over, from any
     * thread: it must be quick and not call back.  Not called after the end of the stream. */
    void (*wake)(void *arg);
    void *wake_arg;
};

/* Sends status and headers of the exchange, in place of http_reply(): it must not be touched
 * afterwards. */
struct http_stream *http_stream_open(struct http_exchange *exchange, void (*wake)(void *arg),
                                     void *arg);

/* An empty piece queries the state. */
static inline enum http_stream_state http_stream_put(struct http_stream *stream, const char *bytes,
                                                     size_t size) {
    return stream->put(stream, bytes, size);
}

/* Ends the stream after its pending pieces.  Called exactly once, also when it is over; the stream
 * must not be touched afterwards. */
static inline void http_stream_end(struct http_stream *stream) {
    stream->end(stream);
}
