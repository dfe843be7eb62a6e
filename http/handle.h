/*
 * How another service is reached, and which one is trusted.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* How a peer is reached and trusted; NULL: the system's default. */
struct http_peer {
    const char *ca_file; /* trusted authorities */
    const char *cert_file,
        *key_file;              /* client certificate; key_file NULL: the key is in cert_file */
    bool insecure;              /* accept any certificate of the peer */
    int64_t connect_timeout_ms; /* 0: 5 000 */
};
