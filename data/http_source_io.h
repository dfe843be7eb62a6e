/*
 * The body of an HTTP response as a volume_io that is read in order, such as an image's bytes.
 *
 * A read of earlier bytes, and one after the connection was lost, requests the bytes from its
 * offset on; a server that ignores the range sends all of them again.  Those before the read are
 * dropped.  A connection is renewed only after one that has brought bytes, and credentials may
 * expire before it.  The limits of time and
 * the kinds of failures are those of http/transfer.h; besides, ERROR_BACKEND: the body is shorter
 * or longer than stated, and ERROR_NOT_FOUND: the response has no body.
 *
 * A body of unknown length has zeros behind its end, up to the size of the object: they are
 * reported as zeros once the end was reached, and are none of its content (checksum_io.h).
 */
#pragma once

#include "data/volume_io.h"
#include "http/transfer.h"

struct http_source_settings {
    struct http_transfer_call request; /* a GET */
    int64_t size;                      /* of the body; -1: as stated by the response */
    int64_t most;  /* of a body of unknown size; the size of the object if none is stated */
    int64_t start; /* of the first read */
    /* The server has refused the credentials of `request` (401): replaces them, for one attempt
     * more; -1: there are no others.  NULL: they are not replaced. */
    int (*renew)(void *arg, struct http_transfer_call *request, struct error *err);
    void *renew_arg;
};

struct volume_io *http_source_io_open(const struct http_source_settings *settings,
                                      struct error *err);
