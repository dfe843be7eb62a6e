#include "data/http_source_io.h"

#include "common/assert.h"
#include "common/clock.h"
#include "common/heap.h"
#include "http/download.h"

#include <stdlib.h>
#include <string.h>

/* Of an extent of which the end is unknown yet. */
#define STEP ((int64_t)VOLUME_IO_MOST)

struct http_source {
    struct volume_io io;
    struct http_transfer_call request;
    struct http_download *download; /* NULL: none is open */
    int64_t begun, at;              /* its first byte, and its next one */
    int64_t end;                    /* of the body; -1: not known yet */
    int (*renew)(void *arg, struct http_transfer_call *request, struct error *err);
    void *renew_arg;
};

static struct http_source *source_of(struct volume_io *io) {
    return (struct http_source *)io;
}

/* ---- the connection ---- */

static void disconnect(struct http_source *source) {
    http_download_close(source->download);
    source->download = NULL;
}

/* The next byte is that of `offset`, or one before it. */
static int connect_at(struct http_source *source, int64_t offset, struct error *err) {
    struct http_download_head head;

    disconnect(source);
    source->download = http_download_open(&source->request, offset, &head, err);
    if (!source->download && err->kind == ERROR_UNAUTHORIZED && source->renew &&
        source->renew(source->renew_arg, &source->request, err) == 0)
        source->download = http_download_open(&source->request, offset, &head, err);
    if (!source->download)
        return -1;
    if (head.status == 204)
        return error_set(err, ERROR_NOT_FOUND, "The server has no data yet.");
    if ((head.status != 200 && head.status != 206) || (head.begin != 0 && head.begin != offset))
        return error_set(err, ERROR_BACKEND, "The server sent other bytes than were requested.");
    source->begun = source->at = head.begin;
    if (head.total < 0)
        return 0;
    if (source->end >= 0 && head.total != source->end)
        return error_set(err, ERROR_BACKEND, "The server has %jd bytes instead of %jd.",
                         (intmax_t)head.total, (intmax_t)source->end);
    if (head.total > source->io.size)
        return error_set(err, ERROR_BACKEND, "The server has %jd bytes, more than %jd.",
                         (intmax_t)head.total, (intmax_t)source->io.size);
    source->end = head.total;
    return 0;
}

static int end_body(struct http_source *source, struct error *err) {
    if (source->end >= 0 && source->at < source->end)
        return error_set(err, ERROR_BACKEND, "The response has ended after %jd of %jd bytes.",
                         (intmax_t)source->at, (intmax_t)source->end);
    source->end = source->at;
    return 0;
}

/* ---- functions ---- */

static int source_extent(struct volume_io *io, int64_t offset, struct volume_io_extent *ret,
                         struct error *err) {
    int64_t end = source_of(io)->end, left = io->size - offset;

    (void)err;
    *ret = (struct volume_io_extent){ .size = left };
    if (end >= 0 && offset >= end)
        ret->zero = true;
    else if (end >= 0)
        ret->size = end - offset;
    else if (left > STEP)
        ret->size = STEP;
    return 0;
}

/* Bytes before `offset` are dropped, then the buffer is filled: 0 it is, or the body has ended. */
static int read_on(struct http_source *source, unsigned char *buffer, size_t size, int64_t offset,
                   size_t *done, struct error *err) {
    size_t got, wanted;

    while (*done < size && (source->end < 0 || source->at < source->end)) {
        int64_t before = offset + (int64_t)*done - source->at;
        int result;

        if (before > 0)
            wanted = before < STEP ? (size_t)before : (size_t)STEP;
        else
            wanted = size - *done;
        result = http_download_read(source->download, before > 0 ? NULL : buffer + *done, wanted,
                                    &got, err);
        source->at += (int64_t)got; /* also where the call fails */
        if (before <= 0)
            *done += got;
        if (result < 0)
            return -1;
        if (got < wanted)
            return end_body(source, err);
    }
    return 0;
}

/* A broken connection is renewed within the time of the call. */
static int fill(struct http_source *source, unsigned char *buffer, size_t size, int64_t offset,
                size_t *done, struct error *err) {
    int64_t until_us = clock_monotonic_us() + source->request.timeout_ms * 1000;

    for (;;) {
        int64_t next = offset + (int64_t)*done;
        struct error failure = { 0 };

        if ((!source->download || source->at > next) && connect_at(source, next, err) < 0)
            return -1;
        if (read_on(source, buffer, size, offset, done, &failure) == 0)
            return 0;
        disconnect(source);
        if (failure.kind != ERROR_UNAVAILABLE || source->at == source->begun ||
            clock_monotonic_us() >= until_us)
            return error_pass(err, &failure);
    }
}

static int source_read(struct volume_io *io, void *buffer, size_t size, int64_t offset,
                       struct error *err) {
    struct http_source *source = source_of(io);
    size_t wanted = size, done = 0, got;
    unsigned char more;

    if (source->end >= 0 && offset + (int64_t)size > source->end)
        wanted = offset < source->end ? (size_t)(source->end - offset) : 0;
    if (wanted > 0 && fill(source, buffer, wanted, offset, &done, err) < 0)
        return -1;
    memset((char *)buffer + done, 0, size - done);
    if (!source->download || (source->at != source->end && source->at != io->size))
        return 0;
    /* The last byte must be the last one of the response. */
    if (http_download_read(source->download, &more, 1, &got, err) < 0)
        return -1;
    if (got > 0)
        return error_set(err, ERROR_BACKEND, "The response has more than %jd bytes.",
                         (intmax_t)source->at);
    disconnect(source);
    return end_body(source, err);
}

static int source_flush(struct volume_io *io, struct error *err) {
    (void)io, (void)err;
    return 0;
}

static void source_close(struct volume_io *io) {
    disconnect(source_of(io));
    free(io);
}

static const struct volume_io_functions source_functions = {
    .extent = source_extent,
    .read = source_read,
    .flush = source_flush,
    .close = source_close,
};

struct volume_io *http_source_io_open(const struct http_source_settings *settings,
                                      struct error *err) {
    struct http_source *source = heap_new(sizeof(*source));

    assert(settings->start >= 0 && settings->size >= -1 && settings->most >= 0);
    source->io =
        (struct volume_io){ .functions = &source_functions,
                            .size = settings->size >= 0 ? settings->size : settings->most };
    source->request = settings->request;
    source->renew = settings->renew;
    source->renew_arg = settings->renew_arg;
    source->end = settings->size;
    if (settings->start != settings->size && connect_at(source, settings->start, err) < 0) {
        source_close(&source->io);
        return NULL;
    }
    if (source->end >= 0)
        source->io.size = source->end;
    return &source->io;
}
