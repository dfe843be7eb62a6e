/*
 * A filter in front of a volume_io whose calls fail, hang or lie, for tests.
 */
#pragma once

#include "data/volume_io.h"

#include <stdatomic.h>

enum fault_io_call {
    FAULT_IO_EXTENT,
    FAULT_IO_READ,
    FAULT_IO_WRITE,
    FAULT_IO_ZERO,
    FAULT_IO_DISCARD,
    FAULT_IO_FLUSH,
    FAULT_IO_CALLS
};

enum fault_io_action {
    FAULT_IO_FAIL,  /* nothing is done */
    FAULT_IO_LATE,  /* done, and reported as failed */
    FAULT_IO_HANG,  /* until `released` is set; then it is done */
    FAULT_IO_TWIST, /* a write changes one bit of its bytes and reports success */
};

/* Outlives the filter. */
struct fault_io_plan {
    enum fault_io_call call;
    enum fault_io_action action;
    unsigned nth; /* of these calls, from 1 on; 0: none */
    atomic_bool released, hangs, closed;
    unsigned counts[FAULT_IO_CALLS];
    int64_t written, read; /* bytes */
};

struct volume_io *fault_io_open(struct volume_io *next, struct fault_io_plan *plan);
