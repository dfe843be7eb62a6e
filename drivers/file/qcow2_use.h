/*
 * The tables of qcow2 images, read and never written, so an interruption cannot harm them.
 *
 * The clusters of an image that may be read: clusters outside of all tables, and clusters that read
 * as zeros whatever their content, can be reclaimed.  The caller keeps writers away meanwhile.
 *
 * The clusters that an image had when it was merged with another one, compared with those of that.
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

/* A file that has dropped out of a chain, and the one that it was merged with. */
struct qcow2_merge {
    int dropped, heir;          /* open for reading */
    bool dropped_raw, heir_raw; /* a file that was pulled into the one above may be raw, */
    bool committed;             /* one that was committed into the file below is not */
    const struct driver_fence *fence;
};

/*
 * Do the tables of the heir show all that the dropped file has?  A pulled cluster has an entry
 * there of any kind, as the heir's own content comes first; a committed one the same content: data
 * that was written in place, or zeros.  Compared by the bytes of the guest's disk, whatever the
 * sizes of clusters.  The dropped file has no writer; the heir may have one, whose entries that are
 * only in its memory do not count.  1 yes; 0 no, or unknown: an image has unknown parts.  Reads
 * only; some pages of memory.
 */
int qcow2_use_covers(const struct qcow2_merge *merge, struct error *err);
