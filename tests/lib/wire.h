/*
 * A client of HTTP/2 that sends any frames, right ones and others, and reads the responses.  Each
 * awaited frame comes within WIRE_TIMEOUT_S or the test fails.
 */
#pragma once

#include <nghttp2/nghttp2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_TIMEOUT_S  120
#define WIRE_MOST_BYTES ((size_t)1024 * 1024)

struct wire {
    int fd;
    nghttp2_hd_deflater *deflater;
    nghttp2_hd_inflater *inflater;
};

struct wire_frame {
    uint8_t type, flags;
    int32_t stream;
    uint32_t size;
    uint8_t bytes[65536];
};

/* All that came for one stream until its end. */
struct wire_answer {
    char http_status[8], status[8]; /* "" : none came */
    char message[2048], request_id[64];
    uint32_t reset;   /* RST_STREAM's code + 1; 0: none */
    bool ended, gone; /* gone: the connection ended before */
    uint32_t away;    /* GOAWAY's code + 1; 0: none */
    size_t size;
    uint8_t body[WIRE_MOST_BYTES];
};

int wire_connect(const char *path);       /* the socket alone */
struct wire *wire_open(const char *path); /* with preface and SETTINGS */
void wire_close(struct wire *wire);

/* False: the peer does not take it any more. */
bool wire_bytes(int fd, const void *bytes, size_t size);
bool wire_send(struct wire *wire, uint8_t type, uint8_t flags, int32_t stream, const void *bytes,
               size_t size);
/* HEADERS of name and value, name and value, …, NULL. */
bool wire_headers(struct wire *wire, uint8_t flags, int32_t stream, const char *const *texts);
/* Those of a call; `more` as above, or NULL. */
bool wire_begin(struct wire *wire, int32_t stream, const char *path, const char *const *more);
/* DATA with a prefix in front, and the end of the stream. */
bool wire_message(struct wire *wire, int32_t stream, const void *message, size_t size);
bool wire_call(struct wire *wire, int32_t stream, const char *path, const void *message,
               size_t size);

/* Is the connection there, and does the server take frames of it? */
bool wire_ping(struct wire *wire);

/* False: the connection has ended. */
bool wire_read(struct wire *wire, struct wire_frame *ret);
/* Until the stream, or the connection, has ended; stream 0: until GOAWAY or the end. For free(). */
struct wire_answer *wire_await(struct wire *wire, int32_t stream);
