#include "tests/lib/nbd_server.h"

#include "common/cleanup.h"
#include "common/heap.h"
#include "common/nbd_protocol.h"

#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PAGE    4096
#define EXTENTS 1024 /* most of a block status */

/* false: the client is gone. */
static bool get(const struct nbd_server *server, void *data, size_t size) {
    return size == 0 || recv(server->fd, data, size, MSG_WAITALL) == (ssize_t)size;
}

static bool put(const struct nbd_server *server, const void *data, size_t size) {
    return size == 0 || send(server->fd, data, size, MSG_NOSIGNAL) == (ssize_t)size;
}

/* Until the client is gone. */
static bool hang(const struct nbd_server *server) {
    char byte;

    while (recv(server->fd, &byte, 1, 0) > 0)
        ;
    return false;
}

/* ---- negotiation ---- */

static bool reply_option(const struct nbd_server *server, uint32_t option, uint32_t type,
                         const void *data, size_t size) {
    const struct nbd_option_reply reply = { htobe64(NBD_OPTION_REPLY_MAGIC), htobe32(option),
                                            htobe32(type), htobe32((uint32_t)size) };

    return put(server, &reply, sizeof(reply)) && put(server, data, size);
}

static bool reply_context(const struct nbd_server *server) {
    struct __attribute__((packed)) {
        uint32_t context;
        char name[sizeof(NBD_ALLOCATION) - 1];
    } data = { htobe32(NBD_SERVER_CONTEXT), "" };

    memcpy(data.name, NBD_ALLOCATION, sizeof(data.name));
    return (server->no_context || reply_option(server, NBD_OPTION_SET_META_CONTEXT,
                                               NBD_META_CONTEXT, &data, sizeof(data))) &&
           reply_option(server, NBD_OPTION_SET_META_CONTEXT, NBD_ACK, NULL, 0);
}

static bool reply_go(const struct nbd_server *server) {
    const struct nbd_export facts = { htobe16(NBD_INFO_EXPORT), htobe64((uint64_t)server->size),
                                      htobe16(server->flags) };

    return reply_option(server, NBD_OPTION_GO, NBD_INFO, &facts, sizeof(facts)) &&
           reply_option(server, NBD_OPTION_GO, NBD_ACK, NULL, 0);
}

static bool negotiate(const struct nbd_server *server) {
    const struct nbd_hello hello = { htobe64(NBD_HELLO_MAGIC), htobe64(NBD_OPTION_MAGIC),
                                     htobe16(NBD_FIXED_NEWSTYLE | NBD_NO_ZEROES) };
    struct nbd_option option;
    unsigned char data[512];
    uint32_t flags, number = 0;

    if (server->greets_not)
        return hang(server);
    if (!put(server, &hello, sizeof(hello)) || !get(server, &flags, sizeof(flags)))
        return false;
    while (number != NBD_OPTION_GO) {
        if (!get(server, &option, sizeof(option)) || be32toh(option.length) > sizeof(data) ||
            !get(server, data, be32toh(option.length)))
            return false;
        number = be32toh(option.option);
        if (number == NBD_OPTION_STRUCTURED_REPLY &&
            !reply_option(server, number, server->simple ? NBD_ERROR_REPLY | 1 : NBD_ACK, NULL, 0))
            return false;
        if (number == NBD_OPTION_SET_META_CONTEXT && !reply_context(server))
            return false;
        if (number == NBD_OPTION_GO && be32toh(option.length) > 6 &&
            memcmp(data + 4, "none", 4) == 0)
            return reply_option(server, number, NBD_ERROR_REPLY | NBD_UNKNOWN, NULL, 0) && false;
    }
    return reply_go(server);
}

/* ---- requests ---- */

static bool reply_chunk(const struct nbd_server *server, const struct nbd_request *request,
                        uint16_t flags, uint16_t type, const void *head, size_t head_size,
                        const void *data, size_t size) {
    const struct nbd_chunk chunk = { htobe32(NBD_STRUCTURED_MAGIC), htobe16(flags), htobe16(type),
                                     request->handle, htobe32((uint32_t)(head_size + size)) };

    return put(server, &chunk, sizeof(chunk)) && put(server, head, head_size) &&
           put(server, data, size);
}

static bool reply_simple(const struct nbd_server *server, const struct nbd_request *request,
                         uint32_t code) {
    const struct nbd_simple reply = { htobe32(NBD_SIMPLE_MAGIC), htobe32(code), request->handle };

    return put(server, &reply, sizeof(reply));
}

static bool is_zero(const struct nbd_server *server, uint64_t page) {
    static const unsigned char zeros[PAGE];
    uint64_t left = (uint64_t)server->size - page * PAGE;

    return memcmp(server->bytes + page * PAGE, zeros, left < PAGE ? left : PAGE) == 0;
}

/* The end of the pages from there on that are all zeros, or all not. */
static uint64_t run_end(const struct nbd_server *server, uint64_t offset, uint64_t end) {
    uint64_t page = offset / PAGE, last = (end - 1) / PAGE;
    bool zero = is_zero(server, page);

    while (page < last && is_zero(server, page + 1) == zero)
        page++;
    return (page + 1) * PAGE < end ? (page + 1) * PAGE : end;
}

/* Holes and data as chunks of their own. */
static bool reply_read(const struct nbd_server *server, const struct nbd_request *request,
                       uint64_t offset, uint32_t size) {
    uint64_t end = offset + size, middle = run_end(server, offset, end);
    uint64_t place = htobe64(offset);
    struct __attribute__((packed)) {
        uint64_t offset;
        uint32_t size;
    } hole = { htobe64(offset), htobe32((uint32_t)(middle - offset)) };

    if (server->simple)
        return reply_simple(server, request, 0) && put(server, server->bytes + offset, size);
    if (is_zero(server, offset / PAGE)
            ? !reply_chunk(server, request, 0, NBD_CHUNK_HOLE, &hole, sizeof(hole), NULL, 0)
            : !reply_chunk(server, request, 0, NBD_CHUNK_DATA, &place, sizeof(place),
                           server->bytes + offset, (size_t)(middle - offset)))
        return false;
    if (middle == end)
        return reply_chunk(server, request, NBD_DONE, NBD_CHUNK_NONE, NULL, 0, NULL, 0);
    place = htobe64(middle);
    return reply_chunk(server, request, NBD_DONE, NBD_CHUNK_DATA, &place, sizeof(place),
                       server->bytes + middle, (size_t)(end - middle));
}

static bool reply_status(const struct nbd_server *server, const struct nbd_request *request,
                         uint64_t offset, uint32_t size) {
    uint32_t status[1 + 2 * EXTENTS] = { htobe32(NBD_SERVER_CONTEXT) };
    size_t most = be16toh(request->flags) & NBD_REQUEST_ONE ? 3 : LENGTH(status), count = 1;

    for (uint64_t at = offset; at < offset + size && count < most; count += 2) {
        uint64_t end = run_end(server, at, offset + size);

        status[count] = htobe32((uint32_t)(end - at));
        status[count + 1] = htobe32(is_zero(server, at / PAGE) ? NBD_STATE_ZERO : 0);
        at = end;
    }
    return reply_chunk(server, request, NBD_DONE, NBD_CHUNK_STATUS, status,
                       count * sizeof(status[0]), NULL, 0);
}

static bool fail(const struct nbd_server *server, const struct nbd_request *request) {
    struct __attribute__((packed)) {
        uint32_t code;
        uint16_t length;
    } failure = { htobe32(ENOSPC), 0 };

    return server->simple ? reply_simple(server, request, ENOSPC)
                          : reply_chunk(server, request, NBD_DONE, NBD_CHUNK_ERROR | 1, &failure,
                                        sizeof(failure), NULL, 0);
}

static bool serve(struct nbd_server *server, const struct nbd_request *request) {
    uint16_t command = be16toh(request->command);
    uint64_t offset = be64toh(request->offset);
    uint32_t size = be32toh(request->size);
    unsigned number;

    if (command == NBD_COMMAND_DISCONNECT || offset + size > (uint64_t)server->size)
        return false;
    if (command == NBD_COMMAND_WRITE && !get(server, server->bytes + offset, size))
        return false;
    number = ++server->requests;
    if (number == server->hang_at)
        return hang(server);
    if (number == server->wrong_at)
        return put(server, server->wrong, server->wrong_size) && hang(server);
    if (number == server->fail_at)
        return fail(server, request);
    if (command == NBD_COMMAND_WRITE_ZEROES)
        memset(server->bytes + offset, 0, size);
    server->writes += command == NBD_COMMAND_WRITE;
    server->zeroes += command == NBD_COMMAND_WRITE_ZEROES;
    server->trims += command == NBD_COMMAND_TRIM;
    server->flushes += command == NBD_COMMAND_FLUSH;
    if (command == NBD_COMMAND_READ)
        return reply_read(server, request, offset, size);
    if (command == NBD_COMMAND_BLOCK_STATUS)
        return reply_status(server, request, offset, size);
    return reply_simple(server, request, 0);
}

static void *run(void *arg) {
    struct nbd_server *server = arg;
    struct nbd_request request;

    if (negotiate(server)) {
        while (get(server, &request, sizeof(request)) &&
               be32toh(request.magic) == NBD_REQUEST_MAGIC && serve(server, &request))
            ;
    }
    shutdown(server->fd, SHUT_RDWR);
    return NULL;
}

int nbd_server_start(struct nbd_server *server) {
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        abort();
    if (server->flags == 0)
        server->flags = NBD_HAS_FLAGS | NBD_HAS_FLUSH | NBD_HAS_TRIM | NBD_HAS_WRITE_ZEROES;
    server->fd = ends[0];
    server->bytes = heap_new((size_t)server->size + PAGE);
    if (pthread_create(&server->thread, NULL, run, server) != 0)
        abort();
    return ends[1];
}

void nbd_server_stop(struct nbd_server *server) {
    pthread_join(server->thread, NULL);
    close(server->fd);
    free(server->bytes);
}
