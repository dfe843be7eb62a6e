/*
 * The body of an HTTP request as a volume_io that is written in order, such as the upload of an
 * image: the target of a copy without `blank`, `verify` and `record`.
 *
 * Zeros are sent as bytes.  The flush after the last byte ends the request and returns when the
 * server has accepted it; one before is refused.  Without it the server sees a request that breaks
 * off.  The limits of time and the kinds of failures are those of http/transfer.h; after one every
 * further call fails.
 */
#pragma once

#include "data/volume_io.h"
#include "http/transfer.h"

/* A PUT of `size` bytes. */
struct volume_io *http_sink_io_open(const struct http_transfer_call *request, int64_t size,
                                    struct error *err);
