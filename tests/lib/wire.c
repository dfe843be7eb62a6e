#include "tests/lib/wire.h"

#include "common/cleanup.h"
#include "tests/lib/check_main.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define HEAD_SIZE 9

int wire_connect(const char *path) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_uint_lt(strlen(path), sizeof(address.sun_path));
    strcpy(address.sun_path, path);
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    close(fd);
    return -1;
}

bool wire_bytes(int fd, const void *bytes, size_t size) {
    const char *at = bytes;

    while (size > 0) {
        struct pollfd wait = { .fd = fd, .events = POLLOUT };
        ssize_t sent;

        ck_assert_int_eq(poll(&wait, 1, WIRE_TIMEOUT_S * 1000), 1);
        sent = send(fd, at, size, MSG_NOSIGNAL);
        if (sent < 0)
            return false;
        at += sent;
        size -= (size_t)sent;
    }
    return true;
}

bool wire_send(struct wire *wire, uint8_t type, uint8_t flags, int32_t stream, const void *bytes,
               size_t size) {
    uint32_t number = htonl((uint32_t)stream);
    uint8_t head[HEAD_SIZE] = { (uint8_t)(size >> 16), (uint8_t)(size >> 8), (uint8_t)size, type,
                                flags };

    memcpy(head + 5, &number, sizeof(number));
    return wire_bytes(wire->fd, head, sizeof(head)) && wire_bytes(wire->fd, bytes, size);
}

struct wire *wire_open(const char *path) {
    static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    struct wire *wire = calloc(1, sizeof(*wire));

    wire->fd = wire_connect(path);
    ck_assert_int_ge(wire->fd, 0);
    ck_assert_int_eq(nghttp2_hd_deflate_new(&wire->deflater, 4096), 0);
    ck_assert_int_eq(nghttp2_hd_inflate_new(&wire->inflater), 0);
    wire_bytes(wire->fd, preface, sizeof(preface) - 1);
    wire_send(wire, NGHTTP2_SETTINGS, 0, 0, "", 0);
    return wire;
}

void wire_close(struct wire *wire) {
    close(wire->fd);
    nghttp2_hd_deflate_del(wire->deflater);
    nghttp2_hd_inflate_del(wire->inflater);
    free(wire);
}

bool wire_headers(struct wire *wire, uint8_t flags, int32_t stream, const char *const *texts) {
    nghttp2_nv headers[64];
    uint8_t block[65536];
    size_t count = 0;
    ssize_t size;

    for (; texts[2 * count]; count++)
        headers[count] = (nghttp2_nv){ .name = (uint8_t *)(uintptr_t)texts[2 * count],
                                       .namelen = strlen(texts[2 * count]),
                                       .value = (uint8_t *)(uintptr_t)texts[2 * count + 1],
                                       .valuelen = strlen(texts[2 * count + 1]) };
    size = nghttp2_hd_deflate_hd(wire->deflater, block, sizeof(block), headers, count);
    ck_assert_int_gt(size, 0);
    return wire_send(wire, NGHTTP2_HEADERS, flags | NGHTTP2_FLAG_END_HEADERS, stream, block,
                     (size_t)size);
}

bool wire_begin(struct wire *wire, int32_t stream, const char *path, const char *const *more) {
    const char *texts[64] = { ":method",   "POST",    ":scheme", "http",         ":authority",
                              "localhost", ":path",   path,      "content-type", "application/grpc",
                              "te",        "trailers" };
    size_t count = 12;

    for (size_t i = 0; more && more[i]; i++)
        texts[count++] = more[i];
    return wire_headers(wire, 0, stream, texts);
}

bool wire_message(struct wire *wire, int32_t stream, const void *message, size_t size) {
    uint32_t length = htonl((uint32_t)size);
    uint8_t bytes[16384 - 1] = { 0 };

    ck_assert_uint_le(size, sizeof(bytes) - 5);
    memcpy(bytes + 1, &length, sizeof(length));
    memcpy(bytes + 5, message, size);
    return wire_send(wire, NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, stream, bytes, size + 5);
}

bool wire_call(struct wire *wire, int32_t stream, const char *path, const void *message,
               size_t size) {
    return wire_begin(wire, stream, path, NULL) && wire_message(wire, stream, message, size);
}

static bool read_bytes(int fd, void *space, size_t size) {
    char *at = space;

    while (size > 0) {
        struct pollfd wait = { .fd = fd, .events = POLLIN };
        ssize_t got;

        ck_assert_int_eq(poll(&wait, 1, WIRE_TIMEOUT_S * 1000), 1);
        got = recv(fd, at, size, 0);
        if (got <= 0)
            return false;
        at += got;
        size -= (size_t)got;
    }
    return true;
}

bool wire_read(struct wire *wire, struct wire_frame *ret) {
    uint8_t head[HEAD_SIZE];
    uint32_t stream;

    if (!read_bytes(wire->fd, head, sizeof(head)))
        return false;
    memcpy(&stream, head + 5, sizeof(stream));
    ret->size = (uint32_t)head[0] << 16 | (uint32_t)head[1] << 8 | head[2];
    ret->type = head[3];
    ret->flags = head[4];
    ret->stream = (int32_t)ntohl(stream);
    ck_assert_uint_le(ret->size, sizeof(ret->bytes));
    return read_bytes(wire->fd, ret->bytes, ret->size);
}

static void keep(const nghttp2_nv *header, const char *name, char *space, size_t size) {
    if (header->namelen != strlen(name) || memcmp(header->name, name, header->namelen) != 0)
        return;
    ck_assert_uint_lt(header->valuelen, size);
    memcpy(space, header->value, header->valuelen);
    space[header->valuelen] = '\0';
}

static void take_headers(struct wire *wire, const struct wire_frame *frame,
                         struct wire_answer *answer) {
    const uint8_t *at = frame->bytes, *end = at + frame->size;
    int flags = 0;

    while (!(flags & NGHTTP2_HD_INFLATE_FINAL)) {
        nghttp2_nv header;
        ssize_t used =
            nghttp2_hd_inflate_hd2(wire->inflater, &header, &flags, at, (size_t)(end - at), 1);

        ck_assert_int_ge(used, 0);
        at += used;
        if (!(flags & NGHTTP2_HD_INFLATE_EMIT) || !answer)
            continue;
        keep(&header, ":status", answer->http_status, sizeof(answer->http_status));
        keep(&header, "grpc-status", answer->status, sizeof(answer->status));
        keep(&header, "grpc-message", answer->message, sizeof(answer->message));
        keep(&header, "x-openstack-request-id", answer->request_id, sizeof(answer->request_id));
    }
    nghttp2_hd_inflate_end_headers(wire->inflater);
}

static uint32_t number_at(const uint8_t *bytes) {
    uint32_t number;

    memcpy(&number, bytes, sizeof(number));
    return ntohl(number);
}

static void take_frame(struct wire *wire, const struct wire_frame *frame, bool ours,
                       struct wire_answer *answer) {
    if (frame->type == NGHTTP2_HEADERS)
        take_headers(wire, frame, ours ? answer : NULL); /* the table counts those of others, too */
    if (frame->type == NGHTTP2_GOAWAY)
        answer->away = number_at(frame->bytes + 4) + 1;
    if (!ours)
        return;
    if (frame->type == NGHTTP2_RST_STREAM)
        answer->reset = number_at(frame->bytes) + 1;
    if (frame->type == NGHTTP2_DATA) {
        ck_assert_uint_le(answer->size + frame->size, sizeof(answer->body));
        memcpy(answer->body + answer->size, frame->bytes, frame->size);
        answer->size += frame->size;
    }
    answer->ended = (frame->type == NGHTTP2_HEADERS || frame->type == NGHTTP2_DATA) &&
                    frame->flags & NGHTTP2_FLAG_END_STREAM;
}

struct wire_answer *wire_await(struct wire *wire, int32_t stream) {
    struct wire_answer *answer = calloc(1, sizeof(*answer));
    struct wire_frame *frame = malloc(sizeof(*frame));

    while (!answer->ended && !answer->reset && !(stream == 0 && answer->away)) {
        if (!wire_read(wire, frame)) {
            answer->gone = true;
            break;
        }
        take_frame(wire, frame, stream != 0 && frame->stream == stream, answer);
    }
    free(frame);
    return answer;
}

bool wire_ping(struct wire *wire) {
    struct wire_frame *frame = malloc(sizeof(*frame));
    struct wire_answer *unread = calloc(1, sizeof(*unread));
    bool answered = false, there = wire_send(wire, NGHTTP2_PING, 0, 0, "12345678", 8);

    while (there && !answered) {
        there = wire_read(wire, frame);
        if (there)
            take_frame(wire, frame, false, unread);
        answered = there && frame->type == NGHTTP2_PING;
    }
    free(unread);
    free(frame);
    return answered;
}
