#include "data/checksum_io.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/heap.h"
#include "common/hex.h"
#include "common/thread.h"

#include <gnutls/crypto.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define DIGEST_MOST ((CHECKSUM_IO_TEXT - 1) / 2)

/* By GnuTLS, which takes a third less time than nettle for SHA-512.  MD5 and SHA-1 protect nothing:
 * older images have no other checksum. */
static const char *const algorithms[] = { "md5", "sha1", "sha256", "sha384", "sha512" };

/* A thread that adds the bytes of one read to a sum while the next are read. */
struct adder {
    const char *algorithm;
    gnutls_hash_hd_t sum;
    bool threaded; /* without the thread they are added by the reader */
    pthread_t thread;
    pthread_cond_t changed;
    pthread_mutex_t lock; /* guards the members below, and the sum while bytes are left */
    size_t left;          /* bytes to be added; the thread has them then */
    bool ends;
    unsigned char bytes[VOLUME_IO_MOST];
};

struct checksum_io {
    struct volume_io io;
    struct volume_io *next;
    struct adder *adder;
    char *expected; /* NULL: nothing */
    bool padded;
    int64_t at; /* bytes in the sum; -1: read in another order */
};

static struct checksum_io *checksum_of(struct volume_io *io) {
    return (struct checksum_io *)io;
}

/* ---- the sum ---- */

static void *add_bytes(void *arg) {
    struct adder *adder = arg;

    scoped_lock(&adder->lock);
    while (adder->left > 0 || !adder->ends) {
        if (adder->left == 0) {
            pthread_cond_wait(&adder->changed, &adder->lock);
            continue;
        }
        pthread_mutex_unlock(&adder->lock);
        gnutls_hash(adder->sum, adder->bytes, adder->left);
        pthread_mutex_lock(&adder->lock);
        adder->left = 0;
        pthread_cond_signal(&adder->changed);
    }
    return NULL;
}

/* NULL: GnuTLS refuses the algorithm, as MD5 by a policy of the host.  A sum of few bytes needs no
 * thread, and one that cannot be started costs time alone. */
static struct adder *adder_new(const char *algorithm, int64_t size) {
    struct adder *adder;
    gnutls_hash_hd_t sum;

    if (gnutls_hash_init(&sum, gnutls_digest_get_id(algorithm)) < 0)
        return NULL;
    adder = heap_new(sizeof(*adder));
    adder->algorithm = algorithm;
    adder->sum = sum;
    pthread_mutex_init(&adder->lock, NULL);
    pthread_cond_init(&adder->changed, NULL);
    adder->threaded = size > (int64_t)sizeof(adder->bytes) &&
                      thread_start(&adder->thread, "checksum", add_bytes, adder) == 0;
    return adder;
}

static void adder_finish(struct adder *adder) {
    scoped_lock(&adder->lock);
    while (adder->left > 0)
        pthread_cond_wait(&adder->changed, &adder->lock);
}

static void adder_add(struct adder *adder, const void *bytes, size_t size) {
    assert(size <= sizeof(adder->bytes));
    adder_finish(adder);
    if (!adder->threaded) {
        gnutls_hash(adder->sum, bytes, size);
        return;
    }
    memcpy(adder->bytes, bytes, size);
    scoped_lock(&adder->lock);
    adder->left = size;
    pthread_cond_signal(&adder->changed);
}

static void print_sum(struct adder *adder, char ret[CHECKSUM_IO_TEXT]) {
    unsigned char digest[DIGEST_MOST];

    adder_finish(adder);
    gnutls_hash_deinit(gnutls_hash_copy(adder->sum), digest);
    hex_encode(digest, gnutls_hash_get_len(gnutls_digest_get_id(adder->algorithm)), ret);
}

/* ---- the filter ---- */

static int checksum_extent(struct volume_io *io, int64_t offset, struct volume_io_extent *ret,
                           struct error *err) {
    const struct checksum_io *checksum = checksum_of(io);

    if (checksum->padded)
        return volume_io_extent(checksum->next, offset, ret, err);
    *ret = (struct volume_io_extent){ .size = io->size - offset };
    return 0;
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
    adder_add(checksum->adder, buffer, content);
    checksum->at += (int64_t)size;
    if (!checksum->expected || checksum->at != io->size)
        return 0;
    print_sum(checksum->adder, found);
    if (strcasecmp(found, checksum->expected) != 0)
        return error_set(err, ERROR_BACKEND, "The bytes have the %s %.32s instead of %.32s.",
                         checksum->adder->algorithm, found, checksum->expected);
    return 0;
}

static int checksum_flush(struct volume_io *io, struct error *err) {
    return volume_io_flush(checksum_of(io)->next, err);
}

static void checksum_close(struct volume_io *io) {
    struct checksum_io *checksum = checksum_of(io);
    struct adder *adder = checksum->adder;

    if (adder->threaded) {
        pthread_mutex_lock(&adder->lock);
        adder->ends = true;
        pthread_cond_signal(&adder->changed);
        pthread_mutex_unlock(&adder->lock);
        pthread_join(adder->thread, NULL);
    }
    pthread_cond_destroy(&adder->changed);
    pthread_mutex_destroy(&adder->lock);
    gnutls_hash_deinit(adder->sum, NULL);
    free(adder);
    volume_io_close(checksum->next);
    free(checksum->expected);
    free(checksum);
}

static const struct volume_io_functions checksum_functions = {
    .extent = checksum_extent,
    .read = checksum_read,
    .flush = checksum_flush,
    .close = checksum_close,
};

static const char *find_algorithm(const char *name) {
    for (size_t i = 0; i < LENGTH(algorithms); i++) {
        if (strcmp(algorithms[i], name) == 0)
            return algorithms[i];
    }
    return NULL;
}

bool checksum_io_knows(const char *algorithm) {
    return find_algorithm(algorithm) != NULL;
}

struct volume_io *checksum_io_open(struct volume_io *next, const char *algorithm, bool padded,
                                   struct error *err) {
    const char *found = find_algorithm(algorithm);
    struct adder *adder = found ? adder_new(found, next->size) : NULL;
    struct checksum_io *checksum;

    if (!adder) {
        error_set(err, ERROR_BAD_REQUEST, "Unknown checksum algorithm %.32s.", algorithm);
        volume_io_close(next);
        return NULL;
    }
    assert(gnutls_hash_get_len(gnutls_digest_get_id(found)) <= DIGEST_MOST);
    checksum = heap_new(sizeof(*checksum));
    checksum->io = (struct volume_io){ .functions = &checksum_functions,
                                       .size = next->size,
                                       .writable = false };
    checksum->next = next;
    checksum->adder = adder;
    checksum->padded = padded;
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
    print_sum(checksum->adder, ret);
    return 0;
}
