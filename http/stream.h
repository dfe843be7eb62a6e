/*
 * An answer in pieces, which lasts until its writer or its client ends it, or the server does.
 *
 * A piece that is put waits in memory until the client has taken it: HTTP_STREAM_ROOM bytes of
 * them, or a single larger one, for which others may leave no room.  Who finds a stream full goes
 * on when it is woken, or tries again after a while.  A client that takes nothing for as long as a
 * connection may be silent is closed, and so is one that has gone, or has shut its side, within
 * some seconds; a stream without anything to say is not.
 *
 * One thread at a time writes a stream; any may.
 */
#pragma once

#include "http/exchange.h"

#define HTTP_STREAM_ROOM ((size_t)64 * 1024)

enum http_stream_state {
    HTTP_STREAM_TAKEN, /* it is on its way */
    HTTP_STREAM_FULL,  /* not taken: the client has to take first what waits */
    HTTP_STREAM_OVER,  /* not taken: nobody reads any more */
};

/* What a stream is made of: the server's, or a test's. */
struct http_stream {
    enum http_stream_state (*put)(struct http_stream *stream, const char *bytes, size_t size);
    void (*end)(struct http_stream *stream);
    /* Called when there is room behind HTTP_STREAM_FULL and when it is over, from any thread: it
     * must be quick and not call back.  No more once the stream is ended. */
    void (*wake)(void *arg);
    void *wake_arg;
};

/* Sends status and headers of the exchange, in place of http_reply(): it must not be touched
 * afterwards. */
struct http_stream *http_stream_open(struct http_exchange *exchange, void (*wake)(void *arg),
                                     void *arg);

/* Nothing is put to hear how it is. */
static inline enum http_stream_state http_stream_put(struct http_stream *stream, const char *bytes,
                                                     size_t size) {
    return stream->put(stream, bytes, size);
}

/* In good order: what waits is sent, then the end of the answer.  Always once, also when it is
 * over; the stream must not be touched afterwards. */
static inline void http_stream_end(struct http_stream *stream) {
    stream->end(stream);
}
