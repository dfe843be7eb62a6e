#include "data/checksum_io.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/heap.h"
#include "common/hex.h"

#include <nettle/nettle-meta.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define DIGEST_MOST ((CHECKSUM_IO_TEXT - 1) / 2)

/* MD5 and SHA-1 protect nothing: older images have no other checksum. */
static const struct nettle_hash *const algorithms[] = { &nettle_md5, &nettle_sha1, &nettle_sha256,
                                                        &nettle_sha384, &nettle_sha512 };

struct checksum_io {
    struct volume_io io;
    struct volume_io *next;
    const struct nettle_hash *algorithm;
    void *sum;
    char *expected; /* NULL: nothing */
    bool padded;
    int64_t at; /* bytes in the sum; -1: read in another order */
};

static struct checksum_io *checksum_of(struct volume_io *io) {
    return (struct checksum_io *)io;
}

static int checksum_extent(struct volume_io *io, int64_t offset, struct volume_io_extent *ret,
                           struct error *err) {
    const struct checksum_io *checksum = checksum_of(io);

    if (checksum->padded)
        return volume_io_extent(checksum->next, offset, ret, err);
    *ret = (struct volume_io_extent){ .size = io->size - offset };
    return 0;
}

static void print_sum(const struct checksum_io *checksum, char ret[CHECKSUM_IO_TEXT]) {
    const struct nettle_hash *algorithm = checksum->algorithm;
    autofree void *sum = heap_new(algorithm->context_size);
    unsigned char digest[DIGEST_MOST];

    memcpy(sum, checksum->sum, algorithm->context_size);
    algorithm->digest(sum, algorithm->digest_size, digest);
    hex_encode(digest, algorithm->digest_size, ret);
}

static int checksum_read(struct volume_io *io, void *buffer, size_t size, int64_t offset,
                         struct error *err) {
    struct checksum_io *checksum = checksum_of(io);
    struct volume_io_extent extent = { .size = (int64_t)size };
    char found[CHECKSUM_IO_TEXT];
    size_t content = size; /* what is before the padding */

    if (volume_io_read(checksum->next, buffer, size, offset, err) < 0 ||
        (checksum->padded && volume_io_extent(checksum->next, offset, &extent, err) < 0))
        return -1;
    if (offset != checksum->at) {
        checksum->at = -1;
        return checksum->expected ? error_set(err, ERROR_BAD_REQUEST,
                                              "Bytes with a checksum are read in their order.")
                                  : 0;
    }
    if (extent.zero)
        content = 0;
    else if (extent.size < (int64_t)size)
        content = (size_t)extent.size;
    checksum->algorithm->update(checksum->sum, content, buffer);
    checksum->at += (int64_t)size;
    if (!checksum->expected || checksum->at != io->size)
        return 0;
    print_sum(checksum, found);
    if (strcasecmp(found, checksum->expected) != 0)
        return error_set(err, ERROR_BACKEND, "The bytes have the %s %.32s instead of %.32s.",
                         checksum->algorithm->name, found, checksum->expected);
    return 0;
}

static int checksum_flush(struct volume_io *io, struct error *err) {
    return volume_io_flush(checksum_of(io)->next, err);
}

static void checksum_close(struct volume_io *io) {
    volume_io_close(checksum_of(io)->next);
    free(checksum_of(io)->sum);
    free(checksum_of(io)->expected);
    free(io);
}

static const struct volume_io_functions checksum_functions = {
    .extent = checksum_extent,
    .read = checksum_read,
    .flush = checksum_flush,
    .close = checksum_close,
};

static const struct nettle_hash *find_algorithm(const char *name) {
    for (size_t i = 0; i < LENGTH(algorithms); i++) {
        if (strcmp(algorithms[i]->name, name) == 0)
            return algorithms[i];
    }
    return NULL;
}

bool checksum_io_knows(const char *algorithm) {
    return find_algorithm(algorithm) != NULL;
}

struct volume_io *checksum_io_open(struct volume_io *next, const char *algorithm, bool padded,
                                   struct error *err) {
    const struct nettle_hash *found = find_algorithm(algorithm);
    struct checksum_io *checksum;

    if (!found) {
        error_set(err, ERROR_BAD_REQUEST, "Unknown checksum algorithm %.32s.", algorithm);
        volume_io_close(next);
        return NULL;
    }
    assert(found->digest_size <= DIGEST_MOST);
    checksum = heap_new(sizeof(*checksum));
    checksum->io = (struct volume_io){ .functions = &checksum_functions,
                                       .size = next->size,
                                       .writable = false };
    checksum->next = next;
    checksum->algorithm = found;
    checksum->sum = heap_new(found->context_size);
    checksum->padded = padded;
    found->init(checksum->sum);
    return &checksum->io;
}

struct volume_io *checksum_io_open_expecting(struct volume_io *next, const char *algorithm,
                                             const char *expected, struct error *err) {
    struct volume_io *io = checksum_io_open(next, algorithm, false, err);

    if (io)
        checksum_of(io)->expected = heap_text(expected);
    return io;
}

int checksum_io_get(struct volume_io *io, char ret[CHECKSUM_IO_TEXT], struct error *err) {
    const struct checksum_io *checksum = checksum_of(io);
    bool complete = checksum->at == io->size;
    struct volume_io_extent rest;

    assert(io->functions == &checksum_functions);
    if (checksum->padded && checksum->at >= 0 && !complete) {
        if (volume_io_extent(checksum->next, checksum->at, &rest, err) < 0)
            return -1;
        complete = rest.zero && rest.size == io->size - checksum->at;
    }
    if (!complete)
        return error_set(err, ERROR_CONFLICT,
                         "The checksum is incomplete: not all bytes were read once, in order.");
    print_sum(checksum, ret);
    return 0;
}
