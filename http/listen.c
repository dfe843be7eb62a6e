#include "http/listen.h"

#include "common/cleanup.h"
#include "http/unix_socket.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define BACKLOG 1024

static int open_socket(const struct addrinfo *where) {
    autoclose int fd =
        socket(where->ai_family, where->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int on = 1, off = 0;

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (where->ai_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    if (bind(fd, where->ai_addr, where->ai_addrlen) < 0 || listen(fd, BACKLOG) < 0)
        return -1;
    return take_fd(fd);
}

static void cleanup_addrinfo(struct addrinfo *const *list) {
    if (*list)
        freeaddrinfo(*list);
}

static const char *without_brackets(const char *address, char room[NI_MAXHOST]) {
    size_t length = strlen(address);

    if (length < 3 || length >= NI_MAXHOST || address[0] != '[' || address[length - 1] != ']')
        return address;
    memcpy(room, address + 1, length - 2);
    room[length - 2] = '\0';
    return room;
}

int listen_open(const char *address, unsigned port, struct error *err) {
    const struct addrinfo hints = { .ai_flags = AI_PASSIVE | AI_NUMERICSERV,
                                    .ai_socktype = SOCK_STREAM };
    __attribute__((cleanup(cleanup_addrinfo))) struct addrinfo *list = NULL;
    char room[NI_MAXHOST], service[16];
    int code, fd = -1;

    if (port > UINT16_MAX)
        return error_set(err, ERROR_BAD_REQUEST, "cannot listen on %s: %u is not a port", address,
                         port);
    snprintf(service, sizeof(service), "%u", port);
    code = getaddrinfo(without_brackets(address, room), service, &hints, &list);
    if (code != 0)
        return error_set(err, ERROR_BAD_REQUEST, "cannot listen on %s port %u: %s", address, port,
                         gai_strerror(code));
    for (const struct addrinfo *where = list; where && fd < 0; where = where->ai_next)
        fd = open_socket(where);
    if (fd < 0)
        return error_errno(err, ERROR_UNAVAILABLE, "cannot listen on %s port %u", address, port);
    return fd;
}

static bool is_loopback(const struct sockaddr *address) {
    const struct sockaddr_in6 *six = (const void *)address;
    const struct sockaddr_in *four = (const void *)address;

    if (address->sa_family == AF_INET)
        return ntohl(four->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    return IN6_IS_ADDR_LOOPBACK(&six->sin6_addr) ||
           (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr) && six->sin6_addr.s6_addr[12] == IN_LOOPBACKNET);
}

bool listen_is_loopback(const char *address) {
    const struct addrinfo hints = { .ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM };
    __attribute__((cleanup(cleanup_addrinfo))) struct addrinfo *list = NULL;
    char room[NI_MAXHOST];

    if (unix_socket_path(address))
        return true;
    if (getaddrinfo(without_brackets(address, room), NULL, &hints, &list) != 0)
        return false;
    for (const struct addrinfo *where = list; where; where = where->ai_next)
        if (!is_loopback(where->ai_addr))
            return false;
    return true;
}

unsigned listen_port(int fd) {
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    } address = { .any.sa_family = AF_UNSPEC };
    socklen_t size = sizeof(address);

    getsockname(fd, &address.any, &size);
    return ntohs(address.any.sa_family == AF_INET6 ? address.six.sin6_port : address.four.sin_port);
}
