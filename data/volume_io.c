#include "data/volume_io.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/heap.h"
#include "common/no_space.h"

#include <stdlib.h>
#include <string.h>

int volume_io_may(const struct volume_io_wait *wait, struct error *err) {
    return wait->may ? wait->may(wait->arg, err) : 0;
}

static void check_range(const struct volume_io *io, int64_t offset, int64_t size) {
    assert(offset >= 0 && size >= 0 && offset <= io->size && size <= io->size - offset);
}

/* Of a change, which alone takes space. */
static int changed(const struct volume_io *io, int result, struct error *err) {
    if (result < 0 && io->place && error_is_no_space(err) && !strchr(err->message, '/'))
        error_context(err, "%s", io->place);
    return result;
}

int volume_io_extent(struct volume_io *io, int64_t offset, struct volume_io_extent *ret,
                     struct error *err) {
    struct volume_io_extent extent = { 0 };

    assert(offset >= 0 && offset < io->size);
    if (io->functions->extent(io, offset, &extent, err) < 0)
        return -1;
    assert(extent.size > 0);
    if (extent.size > io->size - offset)
        extent.size = io->size - offset;
    *ret = extent;
    return 0;
}

int volume_io_read(struct volume_io *io, void *buffer, size_t size, int64_t offset,
                   struct error *err) {
    assert(size <= VOLUME_IO_MOST);
    check_range(io, offset, (int64_t)size);
    return size == 0 ? 0 : io->functions->read(io, buffer, size, offset, err);
}

int volume_io_write(struct volume_io *io, const void *buffer, size_t size, int64_t offset,
                    struct error *err) {
    assert(io->writable && size <= VOLUME_IO_MOST);
    check_range(io, offset, (int64_t)size);
    return size == 0 ? 0 : changed(io, io->functions->write(io, buffer, size, offset, err), err);
}

int volume_io_zero(struct volume_io *io, int64_t offset, int64_t size, struct error *err) {
    assert(io->writable);
    check_range(io, offset, size);
    return size == 0 ? 0 : changed(io, io->functions->zero(io, offset, size, err), err);
}

int volume_io_discard(struct volume_io *io, int64_t offset, int64_t size, struct error *err) {
    assert(io->writable);
    check_range(io, offset, size);
    return size == 0 ? 0 : changed(io, io->functions->discard(io, offset, size, err), err);
}

int volume_io_flush(struct volume_io *io, struct error *err) {
    return changed(io, io->functions->flush(io, err), err);
}

int volume_io_write_zeros(struct volume_io *io, int64_t offset, int64_t size, struct error *err) {
    static const char zeros[1 << 16];

    while (size > 0) {
        size_t part = size < (int64_t)sizeof(zeros) ? (size_t)size : sizeof(zeros);

        if (volume_io_write(io, zeros, part, offset, err) < 0)
            return -1;
        offset += (int64_t)part;
        size -= (int64_t)part;
    }
    return 0;
}

int64_t volume_io_send(struct volume_io *io, struct volume_io *to, int64_t offset, int64_t size,
                       struct error *err) {
    int64_t moved;

    assert(to->writable && size > 0);
    check_range(io, offset, size);
    check_range(to, offset, size);
    if (!io->functions->send)
        return 0;
    moved = io->functions->send(io, to, offset, size, err);
    if (moved < 0)
        changed(to, -1, err);
    assert(moved >= -1 && moved <= size);
    return moved;
}

void volume_io_hold(struct volume_io *io, int fd) {
    size_t i = io->held[0] ? 1 : 0;

    if (fd < 0)
        return;
    assert(!io->held[i]);
    io->held[i] = fd + 1;
}

void volume_io_set_place(struct volume_io *io, const char *directory) {
    assert(!io->place);
    io->place = heap_text(directory);
}

void volume_io_on_close(struct volume_io *io, void (*function)(void *arg), void *arg) {
    assert(!io->on_close);
    io->on_close = function;
    io->on_close_arg = arg;
}

void volume_io_close(struct volume_io *io) {
    struct volume_io closed;

    if (!io)
        return;
    closed = *io;
    io->functions->close(io);
    if (closed.on_close)
        closed.on_close(closed.on_close_arg);
    free(closed.place);
    for (size_t i = 0; i < LENGTH(closed.held); i++) {
        if (closed.held[i])
            close(closed.held[i] - 1);
    }
}

int volume_io_find_data(struct volume_io *io, int64_t from, struct volume_io_range *ret,
                        struct error *err) {
    struct volume_io_extent extent = { .zero = true };
    int64_t at = from;

    while (at < io->size) {
        if (volume_io_extent(io, at, &extent, err) < 0)
            return -1;
        if (!extent.zero)
            break;
        at += extent.size;
    }
    *ret = (struct volume_io_range){ at, at < io->size ? at + extent.size : io->size };
    return 0;
}
