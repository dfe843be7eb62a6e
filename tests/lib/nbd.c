#include "tests/lib/nbd.h"

#include "common/cleanup.h"

#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define OPTION_MAGIC  UINT64_C(0x49484156454F5054)
#define REPLY_MAGIC   UINT64_C(0x0003e889045565a9)
#define REQUEST_MAGIC 0x25609513
#define SIMPLE_MAGIC  0x67446698
#define OPTION_GO     7
#define REPLY_ACK     1
#define REPLY_INFO    3
#define WAIT_S        60

struct __attribute__((packed)) request {
    uint32_t magic;
    uint16_t flags, type;
    uint64_t handle, offset;
    uint32_t length;
};

struct __attribute__((packed)) answer {
    uint32_t magic, error;
    uint64_t handle;
};

static int put(int fd, const void *data, size_t size) {
    const char *next = data;

    while (size > 0) {
        ssize_t sent = send(fd, next, size, MSG_NOSIGNAL);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return -1;
        next += sent;
        size -= (size_t)sent;
    }
    return 0;
}

/* With a receive timeout the kernel restarts no interrupted call, whatever the signal. */
static int get(int fd, void *data, size_t size) {
    char *next = data;

    while (size > 0) {
        ssize_t got = recv(fd, next, size, MSG_WAITALL);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return -1;
        next += got;
        size -= (size_t)got;
    }
    return 0;
}

static int go(int fd, const char *export, int64_t *ret_size) {
    struct __attribute__((packed)) {
        uint32_t flags;
        uint64_t magic;
        uint32_t option, length, name_length;
        char rest[160];
    } option_request = { htobe32(1), htobe64(OPTION_MAGIC), htobe32(OPTION_GO), 0, 0, "" };
    struct __attribute__((packed)) {
        uint64_t magic;
        uint32_t option, type, length;
    } reply;
    struct __attribute__((packed)) {
        uint16_t type;
        uint64_t size;
        uint16_t flags;
    } info;
    size_t length = strlen(export);
    char hello[18];

    option_request.length = htobe32((uint32_t)length + 6);
    option_request.name_length = htobe32((uint32_t)length);
    memcpy(option_request.rest, export, length);
    if (get(fd, hello, sizeof(hello)) < 0 || put(fd, &option_request, 24 + length + 2) < 0)
        return -1;
    for (;;) {
        uint32_t size, type;
        char skipped[512];

        if (get(fd, &reply, sizeof(reply)) < 0 || be64toh(reply.magic) != REPLY_MAGIC)
            return -1;
        size = be32toh(reply.length);
        type = be32toh(reply.type);
        if (type == REPLY_ACK)
            return 0;
        if (type == REPLY_INFO && size == sizeof(info)) {
            if (get(fd, &info, sizeof(info)) < 0)
                return -1;
            *ret_size = (int64_t)be64toh(info.size);
        } else if (type != REPLY_INFO || size > sizeof(skipped) || get(fd, skipped, size) < 0) {
            return -1;
        }
    }
}

static int begin(const struct sockaddr *address, socklen_t size, const char *export,
                 int64_t *ret_size) {
    autoclose int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const struct timeval wait = { .tv_sec = WAIT_S };

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
    if (connect(fd, address, size) < 0 || go(fd, export, ret_size) < 0)
        return -1;
    return take_fd(fd);
}

int nbd_connect(const char *path, const char *export, int64_t *ret_size) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
    return begin((const struct sockaddr *)&address, sizeof(address), export, ret_size);
}

int nbd_connect_port(unsigned port, const char *export, int64_t *ret_size) {
    const struct sockaddr_in address = { .sin_family = AF_INET,
                                         .sin_port = htons((uint16_t)port),
                                         .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

    return begin((const struct sockaddr *)&address, sizeof(address), export, ret_size);
}

int nbd_send(int fd, enum nbd_command command, uint64_t handle, int64_t offset, const void *data,
             uint32_t size) {
    struct request request = { htobe32(REQUEST_MAGIC),     0,
                               htobe16((uint16_t)command), handle,
                               htobe64((uint64_t)offset),  htobe32(size) };

    if (put(fd, &request, sizeof(request)) < 0)
        return -1;
    return command == NBD_WRITE ? put(fd, data, size) : 0;
}

int nbd_answer(int fd, uint64_t *ret_handle, void *data, uint32_t size) {
    struct answer answer;

    if (get(fd, &answer, sizeof(answer)) < 0 || be32toh(answer.magic) != SIMPLE_MAGIC)
        return -1;
    *ret_handle = answer.handle;
    if (answer.error)
        return (int)be32toh(answer.error);
    return data ? get(fd, data, size) : 0;
}

int nbd_do(int fd, enum nbd_command command, int64_t offset, void *data, uint32_t size) {
    uint64_t handle;

    if (nbd_send(fd, command, 1, offset, data, size) < 0)
        return -1;
    return nbd_answer(fd, &handle, command == NBD_READ ? data : NULL, size);
}
