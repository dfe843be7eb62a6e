#include "http/upload.h"

#include "common/assert.h"
#include "common/heap.h"
#include "http/transfer.private.h"

#include <stdlib.h>
#include <string.h>

struct http_upload {
    struct http_transfer transfer;
    const unsigned char *bytes; /* the rest of the writer's */
    size_t unsent;
    bool is_last; /* nothing follows them */
};

static size_t send_part(char *buffer, size_t one, size_t count, void *arg) {
    struct http_upload *upload = arg;
    size_t size = one * count;

    if (upload->unsent == 0 && !upload->is_last) {
        upload->transfer.is_paused = true;
        return CURL_READFUNC_PAUSE;
    }
    if (size > upload->unsent)
        size = upload->unsent;
    if (size > 0)
        memcpy(buffer, upload->bytes, size);
    upload->bytes += size;
    upload->unsent -= size;
    return size;
}

static size_t drop(char *bytes, size_t one, size_t size, void *arg) {
    (void)bytes, (void)one, (void)arg;
    return size;
}

/* "Expect" would cost a second where the peer does not know it. */
struct http_upload *http_upload_open(const struct http_transfer_call *call, struct error *err) {
    static const char *const lines[] = { "Expect:", "Transfer-Encoding: chunked",
                                         "Content-Type: application/octet-stream", NULL };
    struct http_upload *upload = heap_new(sizeof(*upload));
    CURL *handle;

    if (transfer_start(&upload->transfer, call, "PUT", lines, err) < 0) {
        http_upload_close(upload);
        return NULL;
    }
    handle = upload->transfer.handle;
    curl_easy_setopt(handle, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(handle, CURLOPT_READFUNCTION, send_part);
    curl_easy_setopt(handle, CURLOPT_READDATA, upload);
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, drop);
    return upload;
}

static bool is_sent(const struct http_transfer *transfer) {
    return transfer->is_headed || ((const struct http_upload *)transfer)->unsent == 0;
}

int http_upload_write(struct http_upload *upload, const void *bytes, size_t size,
                      struct error *err) {
    struct http_transfer *transfer = &upload->transfer;

    assert(!upload->is_last && upload->unsent == 0);
    upload->bytes = bytes;
    upload->unsent = size;
    if (transfer_await(transfer, is_sent, err) < 0)
        return -1;
    if (!transfer->is_headed && upload->unsent == 0)
        return 0;
    return transfer_check_status(transfer, err) < 0
               ? -1
               : transfer_fail(transfer, ERROR_BACKEND, "a response before the end of the body",
                               err);
}

static bool is_never(const struct http_transfer *transfer) {
    (void)transfer;
    return false;
}

int http_upload_finish(struct http_upload *upload, struct error *err) {
    struct http_transfer *transfer = &upload->transfer;

    assert(upload->unsent == 0);
    upload->is_last = true;
    if (transfer_await(transfer, is_never, err) < 0 || transfer_check_status(transfer, err) < 0)
        return -1;
    return transfer_check_result(transfer, err);
}

void http_upload_close(struct http_upload *upload) {
    if (!upload)
        return;
    transfer_end(&upload->transfer);
    free(upload);
}
