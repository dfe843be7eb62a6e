/*
 * Reclaims unused space of an image in place (common/image_holes.h): punches holes over zeros and,
 * in a qcow2 image, over unreferenced clusters (qcow2_use.h).
 */
#pragma once

#include "common/image_holes.h"
#include "drivers/driver_call.h"

struct image_punch {
    const struct driver_fence *fence;
    const struct driver_progress *progress;
    bool qcow2; /* else raw */
};

/* The file is not written meanwhile, which the locks of `fd` ensure.  Flushed; at most 5 MiB of
 * memory.  ERROR_BAD_REQUEST: this file system cannot punch holes. */
int image_punch(int fd, const struct image_punch *how, struct error *err);
