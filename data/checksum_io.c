#include "data/checksum_io.h"

#include "common/assert.h"
#include "common/heap.h"

#include <nettle/sha2.h>
#include <stdlib.h>

_Static_assert(CHECKSUM_IO_SIZE == SHA256_DIGEST_SIZE, "the digest's size");

struct checksum_io {
    struct volume_io io;
    struct volume_io *next;
    struct sha256_ctx sum;
    int64_t at; /* bytes in the sum; -1: read in another order */
};

static struct checksum_io *checksum_of(struct volume_io *io) {
    return (struct checksum_io *)io;
}

static int checksum_extent(struct volume_io *io, int64_t offset, struct volume_io_extent *ret,
                           struct error *err) {
    (void)err;
    *ret = (struct volume_io_extent){ .size = io->size - offset };
    return 0;
}

static int checksum_read(struct volume_io *io, void *buffer, size_t size, int64_t offset,
                         struct error *err) {
    struct checksum_io *checksum = checksum_of(io);

    if (volume_io_read(checksum->next, buffer, size, offset, err) < 0)
        return -1;
    if (offset != checksum->at) {
        checksum->at = -1;
        return 0;
    }
    sha256_update(&checksum->sum, size, buffer);
    checksum->at += (int64_t)size;
    return 0;
}

static int checksum_flush(struct volume_io *io, struct error *err) {
    return volume_io_flush(checksum_of(io)->next, err);
}

static void checksum_close(struct volume_io *io) {
    volume_io_close(checksum_of(io)->next);
    free(io);
}

static const struct volume_io_functions checksum_functions = {
    .extent = checksum_extent,
    .read = checksum_read,
    .flush = checksum_flush,
    .close = checksum_close,
};

struct volume_io *checksum_io_open(struct volume_io *next) {
    struct checksum_io *checksum = heap_new(sizeof(*checksum));

    checksum->io = (struct volume_io){ .functions = &checksum_functions,
                                       .size = next->size,
                                       .writable = false };
    checksum->next = next;
    sha256_init(&checksum->sum);
    return &checksum->io;
}

int checksum_io_get(struct volume_io *io, unsigned char ret[CHECKSUM_IO_SIZE], struct error *err) {
    struct sha256_ctx sum = checksum_of(io)->sum;

    assert(io->functions == &checksum_functions);
    if (checksum_of(io)->at != io->size)
        return error_set(err, ERROR_CONFLICT,
                         "The checksum is incomplete: not all bytes were read once, in order.");
    sha256_digest(&sum, CHECKSUM_IO_SIZE, ret);
    return 0;
}
