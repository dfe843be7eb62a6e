/*
 * Room that holds nothing goes back to the file system, in place (common/image_holes.h): holes are
 * punched where zeros were read and, in a qcow2 image, where nobody reads (qcow2_use.h).
 */
#pragma once

#include "common/image_holes.h"
#include "drivers/driver_call.h"

struct image_punch {
    const struct driver_fence *fence;
    const struct driver_progress *progress;
    bool qcow2; /* else raw */
};

/* Nobody writes to the file meanwhile, and `fd` holds the locks that see to it.  Flushed; at most
 * 5 MiB of memory.  ERROR_BAD_REQUEST: this file system takes no part of a file back. */
int image_punch(int fd, const struct image_punch *how, struct error *err);
