/*
 * I/O limits of an attached volume, under their names in OpenStack's QoS specs and in libvirt.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum io_limit {
    IO_TOTAL_BYTES,
    IO_READ_BYTES,
    IO_WRITE_BYTES,
    IO_TOTAL_REQUESTS,
    IO_READ_REQUESTS,
    IO_WRITE_REQUESTS,
    IO_PEAKS, /* first of the burst limits */
    IO_LIMITS = 2 * IO_PEAKS
};

#define IO_LIMIT_MOST INT64_C(1000000000000000) /* upper bound in QEMU */

struct io_limits {
    int64_t of[IO_LIMITS]; /* 0: no limit */
};

extern const char *const io_limit_names[IO_LIMITS];

bool io_limits_any(const struct io_limits *limits);
bool io_limits_same(const struct io_limits *a, const struct io_limits *b);

/* Resolves conflicts that QEMU refuses: a total excludes separate limits for reading and writing, a
 * burst limit is above its base limit, and nothing exceeds the upper bound. */
struct io_limits io_limits_settled(const struct io_limits *said);
