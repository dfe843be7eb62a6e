#include "http/peer.private.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define IS_USER 255 /* marks user ids; no client has an IPv6 address with it */

static const struct sockaddr *address_of(struct MHD_Connection *mhd) {
    return MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
}

static uid_t user_of(struct MHD_Connection *mhd) {
    int fd = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    struct ucred peer = { .uid = (uid_t)-1 };
    socklen_t size = sizeof(peer);

    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size);
    return peer.uid;
}

/* The four bytes of an IPv4 address, also of one mapped to IPv6; NULL: not IPv4. */
static const void *find_ipv4(const struct sockaddr *address) {
    const struct sockaddr_in6 *six = (const void *)address;

    if (address->sa_family == AF_INET)
        return &((const struct sockaddr_in *)(const void *)address)->sin_addr;
    return IN6_IS_ADDR_V4MAPPED(&six->sin6_addr) ? &six->sin6_addr.s6_addr[12] : NULL;
}

struct http_address http_peer_address(struct MHD_Connection *mhd) {
    const struct sockaddr *address = address_of(mhd);
    struct http_address bare = { { 0 } };
    const void *four;

    if (address->sa_family == AF_UNIX) {
        uid_t user = user_of(mhd);

        bare.bytes[0] = IS_USER;
        memcpy(bare.bytes + 12, &user, 4);
    } else if ((four = find_ipv4(address))) {
        memcpy(bare.bytes + 12, four, 4);
    } else {
        memcpy(bare.bytes, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, 8);
    }
    return bare;
}

/* inet_ntop() formats by printf(), which is a tenth of the cost of accepting a client. */
static void write_ipv4(const unsigned char bytes[4], char ret[INET6_ADDRSTRLEN]) {
    char *end = ret;

    for (unsigned i = 0; i < 4; i++) {
        if (bytes[i] >= 100)
            *end++ = (char)('0' + bytes[i] / 100);
        if (bytes[i] >= 10)
            *end++ = (char)('0' + bytes[i] / 10 % 10);
        *end++ = (char)('0' + bytes[i] % 10);
        *end++ = i < 3 ? '.' : '\0';
    }
}

void http_peer_write(struct MHD_Connection *mhd, char ret[INET6_ADDRSTRLEN]) {
    const struct sockaddr *address = address_of(mhd);
    const void *four;

    if (address->sa_family == AF_UNIX)
        snprintf(ret, INET6_ADDRSTRLEN, "unix:%u", user_of(mhd));
    else if ((four = find_ipv4(address)))
        write_ipv4(four, ret);
    else
        inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, ret,
                  INET6_ADDRSTRLEN);
}
