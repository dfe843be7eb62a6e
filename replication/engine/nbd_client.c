#include "replication/engine/nbd_client.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/nbd_protocol.h"
#include "replication/engine/deadline.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define ZEROS     124
#define NAME_MOST 128

struct __attribute__((packed)) option {
    uint32_t flags;
    uint64_t magic;
    uint32_t option, length;
    char name[NAME_MOST];
};

/* ---- bytes ---- */

static int fail(struct error *err) {
    return error_errno(err, ERROR_UNAVAILABLE, "the storage daemon's NBD server");
}

/* The server, which is of this host, was suspended with this process, and had no time to reply. */
static bool was_suspended(int fd, int64_t begun_us, int64_t *until_us) {
    struct timeval limit = { 0 };
    socklen_t size = sizeof(limit);
    int failure = errno;
    bool suspended =
        getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, &size) == 0 &&
        deadline_end_wait(begun_us, limit.tv_sec * SECOND_US + limit.tv_usec, until_us);

    errno = failure;
    return suspended;
}

static int put(int fd, const void *data, size_t size, int64_t *until_us, struct error *err) {
    const char *next = data;

    while (size > 0) {
        int64_t begun_us = clock_boottime_us();
        ssize_t sent = send(fd, next, size, MSG_NOSIGNAL);
        bool suspended = was_suspended(fd, begun_us, until_us);

        if (sent < 0 && (errno == EINTR || (errno == EAGAIN && suspended)))
            continue;
        if (sent <= 0)
            return fail(err);
        next += sent;
        size -= (size_t)sent;
    }
    return 0;
}

static int get(int fd, void *data, size_t size, int64_t *until_us, struct error *err) {
    char *next = data;

    while (size > 0) {
        int64_t begun_us = clock_boottime_us();
        ssize_t got = recv(fd, next, size, 0);
        bool suspended = was_suspended(fd, begun_us, until_us);

        if (got < 0 && (errno == EINTR || (errno == EAGAIN && suspended)))
            continue;
        if (got == 0)
            errno = ECONNRESET;
        if (got <= 0)
            return fail(err);
        next += got;
        size -= (size_t)got;
    }
    return 0;
}

/* ---- the beginning ---- */

/* A server without the export disconnects. */
static int choose_export(int fd, const char *export, struct error *err) {
    struct nbd_hello hello;
    struct option option = { .magic = htobe64(NBD_OPTION_MAGIC),
                             .option = htobe32(NBD_OPTION_EXPORT_NAME) };
    size_t length = strlen(export);
    char facts[10 + ZEROS]; /* size and flags */
    uint32_t flags;
    int64_t until_us = 0; /* each wait has its limit alone */

    if (get(fd, &hello, sizeof(hello), &until_us, err) < 0)
        return -1;
    if (be64toh(hello.magic) != NBD_HELLO_MAGIC ||
        be64toh(hello.option_magic) != NBD_OPTION_MAGIC || length > NAME_MOST)
        return error_set(err, ERROR_BACKEND,
                         "the storage daemon's NBD server has an unknown protocol");
    flags = be16toh(hello.flags) & (NBD_FIXED_NEWSTYLE | NBD_NO_ZEROES);
    option.flags = htobe32(flags);
    option.length = htobe32((uint32_t)length);
    memcpy(option.name, export, length);
    if (put(fd, &option, offsetof(struct option, name) + length, &until_us, err) < 0)
        return -1;
    return get(fd, facts, flags & NBD_NO_ZEROES ? 10 : sizeof(facts), &until_us, err);
}

int nbd_client_open(const char *path, const char *export, int64_t timeout_ms, struct error *err) {
    autoclose int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const struct timeval wait = { .tv_sec = timeout_ms / 1000,
                                  .tv_usec = timeout_ms % 1000 * 1000 };
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)) < 0 ||
        connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        return fail(err);
    if (choose_export(fd, export, err) < 0)
        return -1;
    return take_fd(fd);
}

/* ---- requests ---- */

static int send_request(int fd, uint16_t command, uint64_t handle, uint64_t offset, uint32_t size,
                        int64_t *until_us, struct error *err) {
    const struct nbd_request request = { htobe32(NBD_REQUEST_MAGIC),
                                         0,
                                         htobe16(command),
                                         htobe64(handle),
                                         htobe64(offset),
                                         htobe32(size) };

    return put(fd, &request, sizeof(request), until_us, err);
}

static int get_reply(int fd, struct nbd_simple *ret, int64_t *until_us, struct error *err) {
    if (get(fd, ret, sizeof(*ret), until_us, err) < 0)
        return -1;
    if (be32toh(ret->magic) != NBD_SIMPLE_MAGIC)
        return error_set(err, ERROR_BACKEND, "unexpected reply of the storage daemon's NBD server");
    ret->code = be32toh(ret->code);
    ret->handle = be64toh(ret->handle);
    return 0;
}

int nbd_client_read(int fd, struct nbd_read *reads, unsigned count, int64_t *until_us,
                    struct error *err) {
    assert(fd >= 0);
    for (unsigned i = 0; i < count; i++) {
        if (send_request(fd, NBD_COMMAND_READ, i, reads[i].offset, reads[i].size, until_us, err) <
            0)
            return -1;
    }
    for (unsigned i = 0; i < count; i++) {
        struct nbd_simple reply;

        if (get_reply(fd, &reply, until_us, err) < 0)
            return -1;
        if (reply.handle >= count)
            return error_set(err, ERROR_BACKEND,
                             "unexpected reply of the storage daemon's NBD server");
        reads[reply.handle].code = (int)reply.code;
        if (reply.code == 0 &&
            get(fd, reads[reply.handle].data, reads[reply.handle].size, until_us, err) < 0)
            return -1;
    }
    return 0;
}

static int finish(int fd, const char *what, int64_t *until_us, struct error *err) {
    struct nbd_simple reply;

    if (get_reply(fd, &reply, until_us, err) < 0)
        return -1;
    return reply.code == 0 ? 0
                           : error_set(err, ERROR_BACKEND, "the storage daemon failed to %s: %s",
                                       what, strerror((int)reply.code));
}

int nbd_client_write(int fd, uint64_t offset, const void *data, uint32_t size, int64_t *until_us,
                     struct error *err) {
    assert(fd >= 0 && size > 0);
    return send_request(fd, NBD_COMMAND_WRITE, 0, offset, size, until_us, err) < 0 ||
                   put(fd, data, size, until_us, err) < 0
               ? -1
               : finish(fd, "write", until_us, err);
}

int nbd_client_flush(int fd, int64_t *until_us, struct error *err) {
    assert(fd >= 0);
    return send_request(fd, NBD_COMMAND_FLUSH, 0, 0, 0, until_us, err) < 0
               ? -1
               : finish(fd, "flush", until_us, err);
}
