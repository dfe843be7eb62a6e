#include "data/signature_io.h"

#include "common/heap.h"

#include <stdlib.h>

struct signature_io {
    struct volume_io io;
    struct volume_io *next;
    struct signature *signature;
    int64_t at; /* the next byte */
    void (*checked)(void *arg, bool valid);
    void *arg;
};

static struct signature_io *signature_of(struct volume_io *io) {
    return (struct signature_io *)io;
}

static int signature_extent(struct volume_io *io, int64_t offset, struct volume_io_extent *ret,
                            struct error *err) {
    (void)err;
    *ret = (struct volume_io_extent){ .size = io->size - offset };
    return 0;
}

static int signature_read(struct volume_io *io, void *buffer, size_t size, int64_t offset,
                          struct error *err) {
    struct signature_io *signed_io = signature_of(io);
    int result;

    if (offset != signed_io->at)
        return error_set(err, ERROR_BAD_REQUEST, "Signed bytes are read in their order.");
    if (volume_io_read(signed_io->next, buffer, size, offset, err) < 0)
        return -1;
    signature_add(signed_io->signature, buffer, size);
    signed_io->at += (int64_t)size;
    if (signed_io->at < io->size)
        return 0;
    result = signature_check(signed_io->signature, err);
    signed_io->checked(signed_io->arg, result == 0);
    return result;
}

static int signature_flush(struct volume_io *io, struct error *err) {
    return volume_io_flush(signature_of(io)->next, err);
}

static void signature_close(struct volume_io *io) {
    volume_io_close(signature_of(io)->next);
    signature_free(signature_of(io)->signature);
    free(io);
}

struct volume_io *signature_io_open(struct volume_io *next, struct signature *signature,
                                    void (*checked)(void *arg, bool valid), void *arg) {
    static const struct volume_io_functions functions = {
        .extent = signature_extent,
        .read = signature_read,
        .flush = signature_flush,
        .close = signature_close,
    };
    struct signature_io *signed_io = heap_new(sizeof(*signed_io));

    *signed_io = (struct signature_io){
        .io = { .functions = &functions, .size = next->size, .writable = false },
        .next = next,
        .signature = signature,
        .checked = checked,
        .arg = arg,
    };
    return &signed_io->io;
}
