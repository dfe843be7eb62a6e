/*
 * An HTTP server for tests of bodies: each connection gets the next response of a list, and may end
 * anywhere.  The body of a request is decoded and kept.
 */
#pragma once

#include "tests/unit/data/volume_data.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>

#define HTTP_PEER_CONNECTIONS 8

struct http_response {
    const char *head;   /* without its last line, which is empty; NULL: none */
    int64_t begin, end; /* of the server's bytes that follow */
    bool chunked, endless /* no last chunk */;
    bool hangs; /* nothing follows, and the connection stays open */
    bool early; /* before the request's body, which is dropped */
};

struct http_peer_server {
    const struct http_response *responses; /* the last one is that of all further connections */
    size_t count;
    const unsigned char *bytes;
    char url[64];
    int listener;
    pthread_t thread;
    atomic_bool ends;
    atomic_uint connections;
    char requests[HTTP_PEER_CONNECTIONS][2048]; /* their heads */
    unsigned char *body;                        /* of the last request */
    size_t body_size;
    atomic_bool is_whole; /* its last chunk has come */
};

static inline bool http_peer_get(struct http_peer_server *peer, int fd, void *bytes, size_t size) {
    struct pollfd polled = { .fd = fd, .events = POLLIN };
    char *next = bytes;

    while (size > 0) {
        ssize_t got;

        if (peer->ends)
            return false;
        if (poll(&polled, 1, 10) <= 0)
            continue;
        got = recv(fd, next, size, 0);
        if (got <= 0)
            return false;
        next += got;
        size -= (size_t)got;
    }
    return true;
}

static inline void http_peer_put(int fd, const void *bytes, size_t size) {
    const char *next = bytes;

    while (size > 0) {
        ssize_t sent = send(fd, next, size, MSG_NOSIGNAL);

        if (sent <= 0)
            return;
        next += sent;
        size -= (size_t)sent;
    }
}

/* Up to `end`, which is a part of it. */
static inline bool http_peer_get_lines(struct http_peer_server *peer, int fd, char *text,
                                       size_t size, const char *end) {
    size_t length = 0;

    memset(text, 0, size);
    while (length < size - 1 && http_peer_get(peer, fd, text + length, 1)) {
        length++;
        if (length >= strlen(end) && strcmp(text + length - strlen(end), end) == 0)
            return true;
    }
    return false;
}

static inline void http_peer_get_body(struct http_peer_server *peer, int fd) {
    unsigned char *longer;
    char line[64];
    size_t size;

    peer->body_size = 0;
    while (http_peer_get_lines(peer, fd, line, sizeof(line), "\r\n")) {
        size = strtoul(line, NULL, 16);
        longer = realloc(peer->body, peer->body_size + size + 2);
        ck_assert_ptr_nonnull(longer);
        peer->body = longer;
        if (!http_peer_get(peer, fd, peer->body + peer->body_size, size + 2))
            return;
        peer->body_size += size;
        if (size == 0) {
            peer->is_whole = true;
            return;
        }
    }
}

static inline void http_peer_put_body(const struct http_peer_server *peer,
                                      const struct http_response *response, int fd) {
    for (int64_t at = response->begin; at < response->end; at += 100000) {
        int64_t left = response->end - at;
        size_t size = left < 100000 ? (size_t)left : 100000;
        char line[32];

        snprintf(line, sizeof(line), "%zx\r\n", size);
        if (response->chunked)
            http_peer_put(fd, line, strlen(line));
        http_peer_put(fd, peer->bytes + at, size);
        if (response->chunked)
            http_peer_put(fd, "\r\n", 2);
    }
    if (response->chunked && !response->endless)
        http_peer_put(fd, "0\r\n\r\n", 5);
}

/* Until the client closes, so that it reads all that was sent. */
static inline void http_peer_drop(struct http_peer_server *peer, int fd) {
    char byte;

    while (http_peer_get(peer, fd, &byte, 1))
        continue;
}

static inline void http_peer_serve(struct http_peer_server *peer, int fd) {
    unsigned number = peer->connections;
    const struct http_response *response =
        &peer->responses[number < peer->count ? number : peer->count - 1];
    char *request = peer->requests[number % HTTP_PEER_CONNECTIONS];
    bool uploads;

    if (!http_peer_get_lines(peer, fd, request, sizeof(peer->requests[0]), "\r\n\r\n"))
        return;
    peer->connections++;
    uploads = strncmp(request, "PUT", 3) == 0;
    if (uploads && !response->early && !response->hangs)
        http_peer_get_body(peer, fd);
    if (response->head) {
        http_peer_put(fd, response->head, strlen(response->head));
        http_peer_put(fd, "\r\n", 2);
        http_peer_put_body(peer, response, fd);
    }
    if (!response->hangs)
        shutdown(fd, SHUT_WR);
    http_peer_drop(peer, fd);
}

static inline void *http_peer_run(void *arg) {
    struct http_peer_server *peer = arg;
    struct pollfd polled = { .fd = peer->listener, .events = POLLIN };

    while (!peer->ends) {
        int fd = poll(&polled, 1, 10) > 0 ? accept4(peer->listener, NULL, NULL, SOCK_CLOEXEC) : -1;

        if (fd < 0)
            continue;
        http_peer_serve(peer, fd);
        close(fd);
    }
    return NULL;
}

static inline void http_peer_start(struct http_peer_server *peer) {
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(address);

    peer->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(peer->listener, (struct sockaddr *)&address, size), 0);
    ck_assert_int_eq(listen(peer->listener, 8), 0);
    ck_assert_int_eq(getsockname(peer->listener, (struct sockaddr *)&address, &size), 0);
    snprintf(peer->url, sizeof(peer->url), "http://127.0.0.1:%u/image?secret",
             ntohs(address.sin_port));
    ck_assert_int_eq(pthread_create(&peer->thread, NULL, http_peer_run, peer), 0);
}

/* After the client has closed. */
static inline void http_peer_stop(struct http_peer_server *peer) {
    peer->ends = true;
    pthread_join(peer->thread, NULL);
    close(peer->listener);
    free(peer->body);
}
