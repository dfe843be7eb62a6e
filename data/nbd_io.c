#include "data/nbd_io.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/heap.h"
#include "common/nbd_protocol.h"
#include "data/nbd_session.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define RANGE_MOST ((int64_t)1 << 30) /* of a request without data */
/* Written bytes between flushes: the last flush of a large volume ends in time too. */
#define UNFLUSHED ((int64_t)128 << 20)

struct nbd_io {
    struct volume_io io;
    struct nbd_session session;
    int64_t unflushed;
    int pipe_fd;   /* open in the server's process; -1: not awaited */
    int cached_fd; /* of the file that the server writes; -1: unknown */
};

static struct nbd_io *nbd_of(struct volume_io *io) {
    return (struct nbd_io *)io;
}

static int nbd_extent(struct volume_io *io, int64_t offset, struct volume_io_extent *ret,
                      struct error *err) {
    int64_t left = io->size - offset;
    struct nbd_call call = { .command = NBD_COMMAND_BLOCK_STATUS,
                             .offset = (uint64_t)offset,
                             .size = (uint32_t)(left < RANGE_MOST ? left : RANGE_MOST) };

    if (!nbd_of(io)->session.has_allocation) {
        ret->size = left;
        return 0;
    }
    if (nbd_session_call(&nbd_of(io)->session, &call, err) < 0)
        return -1;
    if (call.run == 0)
        return error_set(err, ERROR_BACKEND, "The NBD server reported no block status.");
    *ret = (struct volume_io_extent){ call.run, call.is_zero };
    return 0;
}

static int nbd_read(struct volume_io *io, void *buffer, size_t size, int64_t offset,
                    struct error *err) {
    struct nbd_call call = { .command = NBD_COMMAND_READ,
                             .offset = (uint64_t)offset,
                             .size = (uint32_t)size,
                             .buffer = buffer };

    return nbd_session_call(&nbd_of(io)->session, &call, err);
}

/* A server without flushes makes each write durable. */
static int nbd_flush(struct volume_io *io, struct error *err) {
    struct nbd_call call = { .command = NBD_COMMAND_FLUSH };
    struct nbd_io *nbd = nbd_of(io);

    nbd->unflushed = 0;
    if (nbd->session.flags & NBD_HAS_FLUSH && nbd_session_call(&nbd->session, &call, err) < 0)
        return -1;
    if (nbd->cached_fd >= 0)
        posix_fadvise(nbd->cached_fd, 0, 0, POSIX_FADV_DONTNEED);
    return 0;
}

static int nbd_write(struct volume_io *io, const void *buffer, size_t size, int64_t offset,
                     struct error *err) {
    struct nbd_call call = { .command = NBD_COMMAND_WRITE,
                             .offset = (uint64_t)offset,
                             .size = (uint32_t)size,
                             .data = buffer };

    if (nbd_session_call(&nbd_of(io)->session, &call, err) < 0)
        return -1;
    nbd_of(io)->unflushed += (int64_t)size;
    return nbd_of(io)->unflushed < UNFLUSHED ? 0 : nbd_flush(io, err);
}

static int change_range(struct volume_io *io, uint16_t command, int64_t offset, int64_t size,
                        struct error *err) {
    while (size > 0) {
        int64_t part = size < RANGE_MOST ? size : RANGE_MOST;
        struct nbd_call call = { .command = command,
                                 .offset = (uint64_t)offset,
                                 .size = (uint32_t)part };

        if (nbd_session_call(&nbd_of(io)->session, &call, err) < 0)
            return -1;
        offset += part;
        size -= part;
    }
    return 0;
}

static int nbd_zero(struct volume_io *io, int64_t offset, int64_t size, struct error *err) {
    return nbd_of(io)->session.flags & NBD_HAS_WRITE_ZEROES
               ? change_range(io, NBD_COMMAND_WRITE_ZEROES, offset, size, err)
               : volume_io_write_zeros(io, offset, size, err);
}

static int nbd_discard(struct volume_io *io, int64_t offset, int64_t size, struct error *err) {
    return nbd_of(io)->session.flags & NBD_HAS_TRIM
               ? change_range(io, NBD_COMMAND_TRIM, offset, size, err)
               : 0;
}

/* Reads its last output. */
static void await_end(const struct nbd_io *nbd) {
    int64_t until_us = clock_monotonic_us() + nbd->session.timeout_us;
    struct pollfd pollfd = { nbd->pipe_fd, POLLIN, 0 };
    int64_t left_us;
    char bytes[512];

    while ((left_us = until_us - clock_monotonic_us()) > 0) {
        if (poll(&pollfd, 1, (int)(left_us / 1000) + 1) > 0 &&
            read(nbd->pipe_fd, bytes, sizeof(bytes)) == 0)
            return;
    }
}

static void nbd_close(struct volume_io *io) {
    const struct nbd_io *nbd = nbd_of(io);

    nbd_session_end(&nbd_of(io)->session);
    close(nbd->session.fd);
    if (nbd->pipe_fd >= 0) {
        await_end(nbd);
        close(nbd->pipe_fd);
    }
    if (nbd->cached_fd >= 0)
        close(nbd->cached_fd);
    free(io);
}

static const struct volume_io_functions nbd_functions = {
    .extent = nbd_extent,
    .read = nbd_read,
    .write = nbd_write,
    .zero = nbd_zero,
    .discard = nbd_discard,
    .flush = nbd_flush,
    .close = nbd_close,
};

struct volume_io *nbd_io_open_socket(int fd, const char *export, bool writable, int64_t timeout_ms,
                                     struct error *err) {
    autoclose int owned = fd;
    struct nbd_session session;
    struct nbd_io *nbd;

    if (nbd_session_open(&session, owned, export, timeout_ms, err) < 0)
        return NULL;
    if (writable && session.flags & NBD_READ_ONLY) {
        error_set(err, ERROR_BACKEND, "The NBD export %s is read-only.", export);
        return NULL;
    }
    nbd = heap_new(sizeof(*nbd));
    nbd->io = (struct volume_io){ .functions = &nbd_functions,
                                  .size = (int64_t)session.size,
                                  .writable = writable };
    nbd->session = session;
    nbd->pipe_fd = nbd->cached_fd = -1;
    take_fd(owned);
    return &nbd->io;
}

void nbd_io_drop_cache(struct volume_io *io, int fd) {
    assert(io->functions == &nbd_functions && nbd_of(io)->cached_fd < 0);
    nbd_of(io)->cached_fd = fd;
}

void nbd_io_blame_image(struct volume_io *io) {
    assert(io->functions == &nbd_functions);
    nbd_of(io)->session.lost = ERROR_BACKEND;
}

void nbd_io_await_end(struct volume_io *io, int pipe_fd) {
    assert(io->functions == &nbd_functions && nbd_of(io)->pipe_fd < 0);
    nbd_of(io)->pipe_fd = pipe_fd;
}

struct volume_io *nbd_io_open(const char *path, const char *export, bool writable,
                              int64_t timeout_ms, struct error *err) {
    autoclose int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    if (strlen(path) >= sizeof(address.sun_path)) {
        error_set(err, ERROR_BAD_REQUEST, "The path of the NBD socket is too long: %s", path);
        return NULL;
    }
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    /* Nonblocking: a full queue of connections fails at once. */
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
        error_errno(err, ERROR_UNAVAILABLE, "connecting to the NBD server at %s", path);
        return NULL;
    }
    return nbd_io_open_socket(take_fd(fd), export, writable, timeout_ms, err);
}
