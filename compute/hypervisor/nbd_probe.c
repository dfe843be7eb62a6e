#include "compute/hypervisor/nbd_probe.h"

#include "common/cleanup.h"
#include "common/nbd_protocol.h"

#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define ANSWER_MS 1000
#define NAME_MOST 255

/* The client's flags, and its only option: the name, without information requests. */
struct question {
    uint32_t flags;
    uint64_t magic;
    uint32_t option, length, name_length;
} __attribute__((packed));

/* Reads exactly `size` bytes. */
static bool receive(int fd, void *ret, size_t size) {
    struct pollfd readable = { .fd = fd, .events = POLLIN };
    char *at = ret;

    while (size > 0) {
        int ready = poll(&readable, 1, ANSWER_MS);
        ssize_t got = ready > 0 ? recv(fd, at, size, MSG_DONTWAIT) : -1;

        if (ready < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        size -= (size_t)got;
    }
    return true;
}

static bool request_info(int fd, const char *name) {
    size_t length = strlen(name);
    char text[sizeof(struct question) + NAME_MOST + sizeof(uint16_t)] = { 0 };
    const struct question question = {
        .flags = htobe32(NBD_FIXED_NEWSTYLE),
        .magic = htobe64(NBD_OPTION_MAGIC),
        .option = htobe32(NBD_OPTION_INFO),
        .length = htobe32((uint32_t)(sizeof(uint32_t) + length + sizeof(uint16_t))),
        .name_length = htobe32((uint32_t)length),
    };
    size_t size = sizeof question + length + sizeof(uint16_t);

    if (length > NAME_MOST)
        return false;
    memcpy(text, &question, sizeof question);
    memcpy(text + sizeof question, name, length);
    return send(fd, text, size, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)size;
}

/* A server without a free client slot is not awaited. */
bool nbd_probe(const char *socket_path, const char *name) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    autoclose int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct nbd_hello greeting;
    struct nbd_option_reply reply;

    if (fd < 0 || strlen(socket_path) >= sizeof address.sun_path)
        return false;
    memcpy(address.sun_path, socket_path, strlen(socket_path));
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) != 0 ||
        !receive(fd, &greeting, sizeof greeting) || be64toh(greeting.magic) != NBD_HELLO_MAGIC ||
        be64toh(greeting.option_magic) != NBD_OPTION_MAGIC ||
        !(be16toh(greeting.flags) & NBD_FIXED_NEWSTYLE) || !request_info(fd, name) ||
        !receive(fd, &reply, sizeof reply) || be64toh(reply.magic) != NBD_OPTION_REPLY_MAGIC ||
        be32toh(reply.option) != NBD_OPTION_INFO)
        return false;
    return be32toh(reply.type) == NBD_INFO || be32toh(reply.type) == NBD_ACK;
}
