/*
 * Room that holds nothing goes back to the file system, in place: holes are punched where zeros
 * were read and, in a qcow2 image, where nobody reads (qcow2_use.h).  No byte that anybody reads
 * changes, at no moment, so it can end anywhere and begin again; files that share blocks with this
 * one keep theirs.
 *
 * What a file system says of its holes is never believed so far that something is punched that
 * nobody has read.
 */
#pragma once

#include "drivers/driver_call.h"

struct image_dig {
    const struct driver_fence *fence;
    const struct driver_progress *progress;
    bool qcow2; /* else raw */
};

/* Bytes that the file takes, flushed before they are counted. */
int image_get_usage(int fd, int64_t *ret_bytes, struct error *err);

/* Nobody writes to the file meanwhile, and `fd` holds the locks that see to it.  Flushed; at most
 * 5 MiB of memory.  ERROR_BAD_REQUEST: this file system takes no part of a file back. */
int image_dig(int fd, const struct image_dig *how, struct error *err);
