#include "common/io_limits.h"

#include <string.h>

const char *const io_limit_names[IO_LIMITS] = {
    "total_bytes_sec",     "read_bytes_sec",     "write_bytes_sec",     "total_iops_sec",
    "read_iops_sec",       "write_iops_sec",     "total_bytes_sec_max", "read_bytes_sec_max",
    "write_bytes_sec_max", "total_iops_sec_max", "read_iops_sec_max",   "write_iops_sec_max",
};

bool io_limits_any(const struct io_limits *limits) {
    static const struct io_limits none;

    return !io_limits_same(limits, &none);
}

bool io_limits_same(const struct io_limits *a, const struct io_limits *b) {
    return memcmp(a, b, sizeof *a) == 0;
}

static void prefer_total(struct io_limits *limits, enum io_limit total) {
    if (limits->of[total] > 0)
        limits->of[total + 1] = limits->of[total + 2] = 0;
}

struct io_limits io_limits_settled(const struct io_limits *said) {
    struct io_limits limits = *said;

    for (int i = 0; i < IO_LIMITS; i++)
        if (limits.of[i] > IO_LIMIT_MOST)
            limits.of[i] = IO_LIMIT_MOST;
    prefer_total(&limits, IO_TOTAL_BYTES);
    prefer_total(&limits, IO_TOTAL_REQUESTS);
    for (int i = 0; i < IO_PEAKS; i++)
        if (limits.of[i] == 0 || limits.of[IO_PEAKS + i] <= limits.of[i])
            limits.of[IO_PEAKS + i] = 0;
    return limits;
}
