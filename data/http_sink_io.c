#include "data/http_sink_io.h"

#include "common/heap.h"
#include "http/upload.h"

#include <stdlib.h>

struct http_sink {
    struct volume_io io;
    struct http_upload *upload; /* NULL: ended, or failed */
    int64_t at;
    bool accepted;
};

static struct http_sink *sink_of(struct volume_io *io) {
    return (struct http_sink *)io;
}

static int leave(struct http_sink *sink, int result) {
    http_upload_close(sink->upload);
    sink->upload = NULL;
    return result;
}

static int sink_extent(struct volume_io *io, int64_t offset, struct volume_io_extent *ret,
                       struct error *err) {
    (void)err;
    *ret = (struct volume_io_extent){ .size = io->size - offset };
    return 0;
}

static int sink_read(struct volume_io *io, void *buffer, size_t size, int64_t offset,
                     struct error *err) {
    (void)io, (void)buffer, (void)size, (void)offset;
    return error_set(err, ERROR_BAD_REQUEST, "The bytes of an upload cannot be read.");
}

static int sink_write(struct volume_io *io, const void *buffer, size_t size, int64_t offset,
                      struct error *err) {
    struct http_sink *sink = sink_of(io);

    if (!sink->upload)
        return error_set(err, ERROR_UNAVAILABLE, "The upload has ended.");
    if (offset != sink->at)
        return error_set(err, ERROR_BAD_REQUEST, "An upload of %jd bytes cannot go on at %jd.",
                         (intmax_t)sink->at, (intmax_t)offset);
    if (http_upload_write(sink->upload, buffer, size, err) < 0)
        return leave(sink, -1);
    sink->at += (int64_t)size;
    return 0;
}

static int sink_flush(struct volume_io *io, struct error *err) {
    struct http_sink *sink = sink_of(io);

    if (sink->accepted)
        return 0;
    if (!sink->upload)
        return error_set(err, ERROR_UNAVAILABLE, "The upload has failed.");
    if (sink->at != io->size)
        return error_set(err, ERROR_BAD_REQUEST, "Only %jd of %jd bytes of the upload were sent.",
                         (intmax_t)sink->at, (intmax_t)io->size);
    sink->accepted = http_upload_finish(sink->upload, err) == 0;
    return leave(sink, sink->accepted ? 0 : -1);
}

static void sink_close(struct volume_io *io) {
    leave(sink_of(io), 0);
    free(io);
}

static const struct volume_io_functions sink_functions = {
    .extent = sink_extent,
    .read = sink_read,
    .write = sink_write,
    .zero = volume_io_write_zeros,
    .discard = volume_io_write_zeros,
    .flush = sink_flush,
    .close = sink_close,
};

struct volume_io *http_sink_io_open(const struct http_transfer_call *request, int64_t size,
                                    struct error *err) {
    struct http_upload *upload = http_upload_open(request, err);
    struct http_sink *sink;

    if (!upload)
        return NULL;
    sink = heap_new(sizeof(*sink));
    sink->io = (struct volume_io){ .functions = &sink_functions, .size = size, .writable = true };
    sink->upload = upload;
    return &sink->io;
}
