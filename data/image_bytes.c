#include "data/image_bytes.h"

#include "common/assert.h"

#include <string.h>
#include <unistd.h>

bool image_bytes_get(const struct image_bytes *image, void *buffer, size_t size, uint64_t at) {
    assert(image->size >= 0);
    return at <= (uint64_t)image->size && size <= (uint64_t)image->size - at &&
           pread(image->fd, buffer, size, (off_t)at) == (ssize_t)size;
}

bool image_bytes_are(const struct image_bytes *image, const void *bytes, size_t size, uint64_t at) {
    unsigned char found[16];

    assert(size <= sizeof(found));
    return image_bytes_get(image, found, size, at) && memcmp(found, bytes, size) == 0;
}

uint64_t image_bytes_big(const unsigned char *bytes, unsigned size) {
    uint64_t value = 0;

    assert(size <= 8);
    for (unsigned i = 0; i < size; i++)
        value = value << 8 | bytes[i];
    return value;
}

uint64_t image_bytes_little(const unsigned char *bytes, unsigned size) {
    uint64_t value = 0;

    assert(size <= 8);
    for (unsigned i = size; i > 0; i--)
        value = value << 8 | bytes[i - 1];
    return value;
}
