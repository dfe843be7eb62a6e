#include "data/copy_digest.h"

#include "common/assert.h"
#include "common/image_holes.h"

#include <endian.h>
#include <nettle/sha2.h>
#include <string.h>

_Static_assert(COPY_DIGEST_SIZE == SHA256_DIGEST_SIZE, "the digest's size");
_Static_assert((size_t)COPY_BLOCK <= VOLUME_IO_MOST, "a block is read at once");

void copy_digest_add(unsigned char digest[COPY_DIGEST_SIZE], int64_t begin,
                     const unsigned char *block) {
    const uint64_t place = htobe64((uint64_t)begin);
    struct sha256_ctx sum;

    assert(begin % COPY_BLOCK == 0);
    if (image_is_zero(block, (size_t)COPY_BLOCK))
        return;
    sha256_init(&sum);
    sha256_update(&sum, COPY_DIGEST_SIZE, digest);
    sha256_update(&sum, sizeof(place), (const uint8_t *)&place);
    sha256_update(&sum, (size_t)COPY_BLOCK, block);
    sha256_digest(&sum, COPY_DIGEST_SIZE, digest);
}

int copy_digest_read(struct volume_io *io, unsigned char *buffer,
                     int (*may)(void *arg, int64_t at, struct error *err), void *arg,
                     unsigned char ret_digest[COPY_DIGEST_SIZE], struct error *err) {
    unsigned char digest[COPY_DIGEST_SIZE] = { 0 };
    struct volume_io_range data;

    for (int64_t at = 0; at < io->size; at += COPY_BLOCK) {
        size_t size = (size_t)COPY_BLOCK;

        if (may(arg, at, err) < 0 || volume_io_find_data(io, at, &data, err) < 0)
            return -1;
        if (data.begin >= io->size)
            break;
        at = data.begin - data.begin % COPY_BLOCK;
        if (io->size - at < COPY_BLOCK)
            size = (size_t)(io->size - at);
        if (volume_io_read(io, buffer, size, at, err) < 0)
            return -1;
        memset(buffer + size, 0, (size_t)COPY_BLOCK - size);
        copy_digest_add(digest, at, buffer);
    }
    memcpy(ret_digest, digest, sizeof(digest));
    return 0;
}
