#include "http/download.h"

#include "common/heap.h"
#include "http/transfer.private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct http_download {
    struct http_transfer transfer;
    /* The rest of the reader's buffer, and bytes beyond it of one call of libcurl's. */
    unsigned char *buffer;
    size_t left, spilled, spill_at;
    unsigned char spill[CURL_MAX_WRITE_SIZE];
};

static void deliver(struct http_download *download, const void *bytes, size_t size) {
    if (download->buffer && size > 0) {
        memcpy(download->buffer, bytes, size);
        download->buffer += size;
    }
    download->left -= size;
}

/* Takes all of the bytes, or none. */
static size_t receive(char *bytes, size_t one, size_t size, void *arg) {
    struct http_download *download = arg;
    size_t part = size < download->left ? size : download->left;

    (void)one;
    if (download->spilled > 0) {
        download->transfer.is_paused = true;
        return CURL_WRITEFUNC_PAUSE;
    }
    if (size - part > sizeof(download->spill))
        return 0;
    deliver(download, bytes, part);
    memcpy(download->spill, bytes + part, size - part);
    download->spill_at = 0;
    download->spilled = size - part;
    return size;
}

static bool is_headed(const struct http_transfer *transfer) {
    return transfer->is_headed;
}

static int await_head(struct http_transfer *transfer, struct http_download_head *ret,
                      struct error *err) {
    curl_off_t length = -1;

    if (transfer_await(transfer, is_headed, err) < 0 || transfer_check_status(transfer, err) < 0)
        return -1;
    *ret = (struct http_download_head){ transfer->status, transfer->begin, transfer->total };
    if (transfer->status == 206)
        return 0;
    curl_easy_getinfo(transfer->handle, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    ret->begin = 0;
    ret->total = length;
    return 0;
}

struct http_download *http_download_open(const struct http_transfer_call *call, int64_t from,
                                         struct http_download_head *ret, struct error *err) {
    struct http_download *download = heap_new(sizeof(*download));
    struct http_transfer *transfer = &download->transfer;
    char range[64];
    const char *const lines[] = { from > 0 ? range : NULL, NULL };
    int result;

    snprintf(range, sizeof(range), "Range: bytes=%jd-", (intmax_t)from);
    result = transfer_start(transfer, call, "GET", lines, err);
    if (result == 0) {
        curl_easy_setopt(transfer->handle, CURLOPT_WRITEFUNCTION, receive);
        curl_easy_setopt(transfer->handle, CURLOPT_WRITEDATA, download);
        result = await_head(transfer, ret, err);
    }
    if (result == 0)
        return download;
    http_download_close(download);
    return NULL;
}

static bool is_filled(const struct http_transfer *transfer) {
    return ((const struct http_download *)transfer)->left == 0;
}

int http_download_read(struct http_download *download, void *buffer, size_t size, size_t *ret_got,
                       struct error *err) {
    struct http_transfer *transfer = &download->transfer;
    size_t part = download->spilled < size ? download->spilled : size;
    int result = 0;

    download->buffer = buffer;
    download->left = size;
    deliver(download, download->spill + download->spill_at, part);
    download->spill_at += part;
    download->spilled -= part;
    if (download->left > 0 && !transfer->is_over)
        result = transfer_await(transfer, is_filled, err);
    *ret_got = size - download->left;
    download->buffer = NULL;
    download->left = 0;
    if (result < 0 || *ret_got == size)
        return result;
    return transfer_check_result(transfer, err);
}

void http_download_close(struct http_download *download) {
    if (!download)
        return;
    transfer_end(&download->transfer);
    free(download);
}
