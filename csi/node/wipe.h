/*
 * Room of a file system goes back where no discard arrives, and zeros that are written become
 * holes: what is free is taken for a file without a name, and zeros are written into that wherever
 * the device has something there.
 *
 * The file system itself gives nobody else these blocks meanwhile, and has them again with the
 * descriptor of the file: whoever dies leaves nothing.  For so long it is fuller, but for a
 * sixteenth (WIPE_SPARED bytes at least), which stays free for others and gives back nothing; when
 * they have taken half of that, all is theirs at once.
 */
#pragma once

#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>

#define WIPE_SPARED (INT64_C(64) << 20)

struct wipe {
    int directory; /* any descriptor in the file system that can be read */
    int image;     /* the file whose bytes are those of its device */
    bool (*goes_on)(void *arg);
    void *arg;
};

/* 1 there is no more to do, 0 it was ended before; -1, with ERROR_BAD_METHOD when it cannot be done
 * there. */
int wipe_free(const struct wipe *wipe, struct error *err);

/* How many bytes of the image hold something.  1, or 0 and -1 as above. */
int wipe_measure(const struct wipe *wipe, int64_t *ret, struct error *err);
