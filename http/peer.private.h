/*
 * The peer of a connection: an address, or the user of a Unix socket (SO_PEERCRED).
 */
#pragma once

#include <microhttpd.h>
#include <netinet/in.h>

struct http_address {
    /* IPv4 in the last four; the /64 network of IPv6; 255, and a user id in the last four */
    unsigned char bytes[16];
};

/* The unit of the limits by address: an IPv6 client can choose addresses of a whole /64 network. */
struct http_address http_peer_address(struct MHD_Connection *mhd);

/* For the log: the address, or "unix:<user id>". */
void http_peer_write(struct MHD_Connection *mhd, char ret[INET6_ADDRSTRLEN]);
