/*
 * Who is at the other end of a connection: an address, or of a Unix socket the user (SO_PEERCRED).
 */
#pragma once

#include <microhttpd.h>
#include <netinet/in.h>

struct http_address {
    /* IPv4 in the last four; of IPv6 the network of 64 bits; 255, and a user's id in the last
     * four */
    unsigned char bytes[16];
};

/* What belongs together in the limits of one address: of IPv6 a client has a whole network of 64
 * bits to choose addresses from. */
struct http_address http_peer_address(struct MHD_Connection *mhd);

/* For the log: the address, or "unix:<user id>". */
void http_peer_write(struct MHD_Connection *mhd, char ret[INET6_ADDRSTRLEN]);
