/*
 * Bytes of an image file from an untrusted source: every read is checked against its length.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image_bytes {
    int fd;       /* has the first IMAGE_BYTES_HEAD bytes at least, and all of a container format */
    int64_t size; /* of the whole image */
};

#define IMAGE_BYTES_HEAD ((int64_t)1 << 20)

/* false: they are not all there. */
bool image_bytes_get(const struct image_bytes *image, void *buffer, size_t size, uint64_t at);
bool image_bytes_are(const struct image_bytes *image, const void *bytes, size_t size, uint64_t at);

/* Numbers of up to eight bytes. */
uint64_t image_bytes_big(const unsigned char *bytes, unsigned size);
uint64_t image_bytes_little(const unsigned char *bytes, unsigned size);
