/*
 * A GET whose response is read in pieces (transfer.h).
 */
#pragma once

#include "http/transfer.h"

struct http_download;

struct http_download_head {
    int status;    /* 2xx */
    int64_t begin; /* the place of the body's first byte in the whole; -1: an invalid range */
    int64_t total; /* bytes of the whole; -1: unknown */
};

/* From the byte `from` on: a range is requested unless that is 0, which the peer may ignore.
 * Returns when the head of the response has arrived.  NULL: see err. */
struct http_download *http_download_open(const struct http_transfer_call *call, int64_t from,
                                         struct http_download_head *ret, struct error *err);
/* The next `size` bytes of the body, which are dropped where `buffer` is NULL.  *ret_got < size:
 * the body has ended, and is complete.  It is set also on failure. */
int http_download_read(struct http_download *download, void *buffer, size_t size, size_t *ret_got,
                       struct error *err);
void http_download_close(struct http_download *download); /* NULL is fine */
