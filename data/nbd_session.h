/*
 * A connection to an NBD server: negotiation of an export, and one request at a time.
 *
 * Nothing that the server sends is trusted: a reply of another form, or for another range, ends the
 * session.  So does a timeout, as a late reply would be taken for that of the next request.
 */
#pragma once

#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>

struct nbd_session {
    int fd;
    uint64_t size;
    uint16_t flags;       /* of the export: NBD_HAS_… */
    bool has_allocation;  /* the server reports zeros */
    enum error_kind lost; /* of a server that ended, or does not respond: ERROR_UNAVAILABLE */
    /* Internal: */
    bool is_structured, is_broken;
    uint32_t context; /* the server's number of the allocation */
    uint64_t handle;
    int64_t timeout_us, until_us;
};

/* On a connected socket, which stays the caller's. */
int nbd_session_open(struct nbd_session *ret, int fd, const char *export, int64_t timeout_ms,
                     struct error *err);
/* Sends the disconnection, without waiting. */
void nbd_session_end(struct nbd_session *session);

struct nbd_call {
    uint16_t command;
    uint64_t offset;
    uint32_t size;
    const void *data;      /* of a write */
    unsigned char *buffer; /* of a read: `size` bytes */
    int64_t run;           /* of a block status: the size of its first extent, and whether zeros */
    bool is_zero;
};

/* ERROR_BACKEND: also the server's refusal, after which the session goes on. */
int nbd_session_call(struct nbd_session *session, struct nbd_call *call, struct error *err);
