/*
 * Small volumes in memory with a known content.
 */
#pragma once

#include "data/file_io.h"
#include "tests/lib/check_main.h"

#include <string.h>

#define KIB ((int64_t)1 << 10)
#define MIB ((int64_t)1 << 20)

static inline struct volume_io *memory_volume(int64_t size) {
    struct error err = { 0 };
    struct volume_io *io = file_io_open_memory(size, &err);

    ck_assert_msg(io != NULL, "%s", err.message);
    return io;
}

/* Bytes of which no two blocks are equal, none of them zero. */
static inline void fill(struct volume_io *io, int64_t offset, int64_t size, unsigned seed) {
    static unsigned char bytes[VOLUME_IO_MOST];
    struct error err = { 0 };

    while (size > 0) {
        size_t part = size < (int64_t)VOLUME_IO_MOST ? (size_t)size : VOLUME_IO_MOST;

        for (size_t i = 0; i < part; i += sizeof(seed)) {
            unsigned all = (seed = seed * 1103515245 + 12345) | 0x01010101;

            memcpy(bytes + i, &all, sizeof(all)); /* also behind the part, within the buffer */
        }
        ck_assert_msg(volume_io_write(io, bytes, part, offset, &err) == 0, "%s", err.message);
        offset += (int64_t)part;
        size -= (int64_t)part;
    }
}

static inline void assert_same_bytes(struct volume_io *one, struct volume_io *other, int64_t size) {
    static unsigned char left[VOLUME_IO_MOST], right[VOLUME_IO_MOST];
    struct error err = { 0 };

    for (int64_t at = 0; at < size; at += (int64_t)VOLUME_IO_MOST) {
        size_t part = size - at < (int64_t)VOLUME_IO_MOST ? (size_t)(size - at) : VOLUME_IO_MOST;

        ck_assert_msg(volume_io_read(one, left, part, at, &err) == 0 &&
                          volume_io_read(other, right, part, at, &err) == 0,
                      "%s", err.message);
        ck_assert_msg(memcmp(left, right, part) == 0, "the bytes from %jd on differ", at);
    }
}

static inline void assert_zeros(struct volume_io *io, int64_t offset, int64_t size) {
    static unsigned char bytes[VOLUME_IO_MOST];
    struct error err = { 0 };

    for (int64_t at = offset; at < offset + size; at += (int64_t)VOLUME_IO_MOST) {
        int64_t left = offset + size - at;
        size_t part = left < (int64_t)VOLUME_IO_MOST ? (size_t)left : VOLUME_IO_MOST;

        ck_assert_int_eq(volume_io_read(io, bytes, part, at, &err), 0);
        ck_assert_msg(bytes[0] == 0 && memcmp(bytes, bytes + 1, part - 1) == 0,
                      "not all of the %zu bytes from %jd on are zeros", part, (intmax_t)at);
    }
}

/* Bytes of extents that are not zeros. */
static inline int64_t data_bytes(struct volume_io *io) {
    struct volume_io_range data = { 0 };
    struct error err = { 0 };
    int64_t bytes = 0;

    while (data.end < io->size) {
        ck_assert_int_eq(volume_io_find_data(io, data.end, &data, &err), 0);
        bytes += data.end - data.begin;
    }
    return bytes;
}
