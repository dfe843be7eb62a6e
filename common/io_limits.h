/*
 * How much a volume's user may take in a second: the words of OpenStack's QoS specs, which are
 * libvirt's, too.
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
    IO_PEAKS, /* from here on what each may be for a moment */
    IO_LIMITS = 2 * IO_PEAKS
};

#define IO_LIMIT_MOST INT64_C(1000000000000000) /* that QEMU takes */

struct io_limits {
    int64_t of[IO_LIMITS]; /* 0: no limit */
};

extern const char *const io_limit_names[IO_LIMITS];

bool io_limits_any(const struct io_limits *limits);
bool io_limits_same(const struct io_limits *a, const struct io_limits *b);

/* As QEMU can hold to: beside a total there is none for reading or writing, a peak is above what
 * it is the peak of, and nothing is more than the most. */
struct io_limits io_limits_settled(const struct io_limits *said);
