/*
 * The clusters of a qcow2 image that may be read: clusters outside of all tables, and clusters that
 * read as zeros whatever their content, can be reclaimed.
 *
 * The tables are read and never written, so an interruption cannot harm them.  The caller keeps
 * writers away meanwhile.
 */
#pragma once

#include "drivers/driver_call.h"

#define QCOW2_USE_MOST ((uint64_t)1 << 25) /* clusters: 4 MiB of bits */

struct qcow2_use {
    unsigned cluster_bits;
    uint64_t first, count; /* the clusters in the file that `bits` describes */
    unsigned char *bits;   /* set: the cluster may be read */
};

/*
 * Sets use->cluster_bits and the bits of `count` clusters from the `first` on, as many as there are
 * up to QCOW2_USE_MOST; `bits` has space for those.  0: the image has unknown parts (internal
 * snapshots, bitmaps, encryption, an impossible table), and no cluster can be classified.
 */
int qcow2_use_read(int fd, uint64_t length, const struct driver_fence *fence, struct qcow2_use *use,
                   struct error *err);

static inline bool qcow2_use_has(const struct qcow2_use *use, uint64_t offset) {
    uint64_t cluster = (offset >> use->cluster_bits) - use->first;

    return use->bits[cluster / 8] >> cluster % 8 & 1;
}
