/*
 * calls SOCKET PATH SECONDS: gRPC calls of an empty message, one after the other on one connection,
 * each answered with OK. Prints how many there were, and how long half of them and the slowest in a
 * hundred took at most, in microseconds.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define HEAD_SIZE   9
#define MOST_CALLS  ((size_t)1 << 22)
#define WINDOW_SIZE 0x7fff0000

enum { DATA, HEADERS, SETTINGS = 4, GOAWAY = 7, WINDOW_UPDATE };
enum { END_STREAM = 1, END_HEADERS = 4 };

static void fail(const char *what) {
    fprintf(stderr, "calls: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

static int64_t now_us(void) {
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void put_number(uint8_t *space, uint32_t number) {
    for (unsigned i = 0; i < 4; i++)
        space[i] = (uint8_t)(number >> (24 - 8 * i));
}

static size_t put_frame(uint8_t *space, uint8_t type, uint8_t flags, uint32_t stream,
                        const void *bytes, size_t size) {
    space[0] = 0;
    space[1] = (uint8_t)(size >> 8);
    space[2] = (uint8_t)size;
    space[3] = type;
    space[4] = flags;
    put_number(space + 5, stream);
    memcpy(space + HEAD_SIZE, bytes, size);
    return HEAD_SIZE + size;
}

/* Literally, and kept in no table: so each call's are the same. */
static size_t put_header(uint8_t *space, const char *name, const char *value) {
    size_t name_size = strlen(name), value_size = strlen(value);

    space[0] = 0;
    space[1] = (uint8_t)name_size;
    memcpy(space + 2, name, name_size);
    space[2 + name_size] = (uint8_t)value_size;
    memcpy(space + 3 + name_size, value, value_size);
    return 3 + name_size + value_size;
}

static size_t put_headers(uint8_t *space, const char *path) {
    size_t size = put_header(space, ":method", "POST");

    size += put_header(space + size, ":scheme", "http");
    size += put_header(space + size, ":authority", "localhost");
    size += put_header(space + size, ":path", path);
    size += put_header(space + size, "content-type", "application/grpc");
    return size + put_header(space + size, "te", "trailers");
}

static void send_all(int fd, const uint8_t *bytes, size_t size) {
    while (size > 0) {
        ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL);

        if (sent <= 0)
            fail("sending");
        bytes += sent;
        size -= (size_t)sent;
    }
}

static int begin(const char *path) {
    static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    uint8_t bytes[128], window[4];
    size_t size = sizeof(preface) - 1;

    strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        fail(path);
    put_number(window, WINDOW_SIZE);
    memcpy(bytes, preface, size);
    size += put_frame(bytes + size, SETTINGS, 0, 0, "", 0);
    size += put_frame(bytes + size, WINDOW_UPDATE, 0, 0, window, sizeof(window));
    send_all(fd, bytes, size);
    return fd;
}

/* Reads the response's frames. The trailers of an OK are kept in nghttp2's table behind the first
 * call, so the check is that there were headers, a message and trailers. */
static void read_answer(int fd, uint32_t stream) {
    static uint8_t bytes[65536];
    static size_t have;
    unsigned seen = 0;

    for (size_t at = 0;;) {
        size_t size =
            have >= at + HEAD_SIZE ? HEAD_SIZE + ((size_t)bytes[at + 1] << 8 | bytes[at + 2]) : 0;
        ssize_t got;

        if (size > 0 && have >= at + size) {
            bool ours = (uint32_t)(bytes[at + 7] << 8 | bytes[at + 8]) == (stream & 0xffff);

            if (bytes[at + 3] == GOAWAY)
                fail("the server goes");
            seen += ours && bytes[at + 3] <= HEADERS;
            at += size;
            if (!ours || !(bytes[at - size + 4] & END_STREAM))
                continue;
            if (seen != 3)
                fail("the answer is no OK");
            have -= at;
            memmove(bytes, bytes + at, have);
            return;
        }
        got = recv(fd, bytes + have, sizeof(bytes) - have, 0);
        if (got <= 0)
            fail("receiving");
        have += (size_t)got;
    }
}

static int compare(const void *a, const void *b) {
    int32_t left = *(const int32_t *)a, right = *(const int32_t *)b;

    return (left > right) - (left < right);
}

int main(int argc, char **argv) {
    static int32_t taken[MOST_CALLS];
    uint8_t headers[512], call[1024];
    size_t headers_size, count = 0;
    int64_t end_us, start_us;
    int fd;

    if (argc != 4 || strlen(argv[2]) > 127) {
        fputs("usage: calls SOCKET PATH SECONDS\n", stderr);
        return 2;
    }
    fd = begin(argv[1]);
    headers_size = put_headers(headers, argv[2]);
    start_us = now_us();
    end_us = start_us + 1000000 * atoll(argv[3]);
    for (int64_t at_us = start_us; at_us < end_us && count < MOST_CALLS; count++) {
        uint32_t stream = (uint32_t)(2 * count + 1);
        size_t size = put_frame(call, HEADERS, END_HEADERS, stream, headers, headers_size);
        int64_t before_us = at_us;

        size += put_frame(call + size, DATA, END_STREAM, stream, "\0\0\0\0\0", 5);
        send_all(fd, call, size);
        read_answer(fd, stream);
        at_us = now_us();
        taken[count] = (int32_t)(at_us - before_us);
    }
    end_us = now_us();
    qsort(taken, count, sizeof(taken[0]), compare);
    printf("%.0f calls a second, half of them within %d us, 99 of 100 within %d us\n",
           (double)count * 1e6 / (double)(end_us - start_us), taken[count / 2],
           taken[count * 99 / 100]);
    close(fd);
    return EXIT_SUCCESS;
}
