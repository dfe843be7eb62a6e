/*
 * A PUT whose body is written in pieces, as application/octet-stream in chunks (transfer.h).
 */
#pragma once

#include "http/transfer.h"

struct http_upload;

/* Connects with the first write.  NULL: see err. */
struct http_upload *http_upload_open(const struct http_transfer_call *call, struct error *err);
/* A response before the end of the body is a failure, whatever its status. */
int http_upload_write(struct http_upload *upload, const void *bytes, size_t size,
                      struct error *err);
/* Ends the body, and waits for the response.  The peer sees a request that is closed before as
 * broken off. */
int http_upload_finish(struct http_upload *upload, struct error *err);
void http_upload_close(struct http_upload *upload); /* NULL is fine */
