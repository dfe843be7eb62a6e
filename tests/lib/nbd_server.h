/*
 * A small NBD server of one export in memory, for tests: one client, in a thread.  It can leave out
 * parts of the protocol, hang, and send any bytes as a reply.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NBD_SERVER_CONTEXT 77 /* its number of the allocation */

struct nbd_server {
    /* Set before the start: */
    int64_t size;
    bool simple;       /* no structured replies */
    bool no_context;   /* no block status */
    uint16_t flags;    /* of the export; 0: all */
    unsigned hang_at;  /* the n-th request gets no reply; 0: none */
    unsigned wrong_at; /* the n-th gets the bytes of `wrong` */
    const void *wrong;
    size_t wrong_size;
    unsigned fail_at; /* the n-th fails with ENOSPC */
    bool greets_not;  /* no greeting */
    /* Internal: */
    int fd, client;
    unsigned char *bytes;
    atomic_uint requests, writes, zeroes, trims, flushes;
    pthread_t thread;
};

/* Its socket for the client, which owns it. */
int nbd_server_start(struct nbd_server *server);
/* After the client's end was closed. */
void nbd_server_stop(struct nbd_server *server);
