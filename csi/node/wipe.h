/*
 * Deallocates free blocks of a file system where discards are ignored but zeros become holes: the
 * free space is allocated to an unnamed file, and zeros are written to its blocks wherever the
 * device has data.
 *
 * The file system itself reserves these blocks meanwhile, and frees them with the descriptor of the
 * file: a terminated process leaves nothing.  During that time the file system is full, except for
 * a sixteenth (at least WIPE_RESERVE bytes), which stays available and is not wiped; when half of
 * that has been used by others, everything is released at once.
 */
#pragma once

#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>

#define WIPE_RESERVE (INT64_C(64) << 20)

struct wipe {
    int directory; /* any readable descriptor in the file system */
    int image;     /* the file with the bytes of its device */
    bool (*may_continue)(void *arg);
    void *arg;
};

/* 1: completed, 0: interrupted; -1, with ERROR_BAD_METHOD when it is not supported. */
int wipe_free(const struct wipe *wipe, struct error *err);

/* The image's allocated bytes.  1, or 0 and -1 as above. */
int wipe_measure(const struct wipe *wipe, int64_t *ret, struct error *err);
