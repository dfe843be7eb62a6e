/*
 * Which clusters of a qcow2 image hold something that somebody may read: what belongs to none of
 * its tables, and what reads as zeros whatever stands there, can be given back.
 *
 * The tables are read and never written, so nothing that happens on the way can harm them.  Who
 * asks keeps writers away meanwhile.
 */
#pragma once

#include "drivers/driver_call.h"

#define QCOW2_USE_MOST ((uint64_t)1 << 25) /* clusters: 4 MiB of bits */

struct qcow2_use {
    unsigned cluster_bits;
    uint64_t first, count; /* of the clusters in the file that `bits` are about */
    unsigned char *bits;   /* set: somebody may read it */
};

/*
 * Sets use->cluster_bits and the bits of `count` clusters from the `first` on, as many as there
 * are up to QCOW2_USE_MOST; `bits` has room for those.  0: the image has something that is not
 * known here (snapshots inside, bitmaps, encryption, a table that cannot be), and nothing can be
 * said of any cluster.
 */
int qcow2_use_read(int fd, uint64_t length, const struct driver_fence *fence, struct qcow2_use *use,
                   struct error *err);

static inline bool qcow2_use_has(const struct qcow2_use *use, uint64_t offset) {
    uint64_t cluster = (offset >> use->cluster_bits) - use->first;

    return use->bits[cluster / 8] >> cluster % 8 & 1;
}
