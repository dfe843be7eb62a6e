/*
 * An unused replica returns space to its pool: zeros in its data become holes
 * (common/image_holes.h). Its content stays the same, and so do its state, its sums and its vote; a
 * crash at any point needs no repair.
 *
 * The work is done in small parts. During each the replica is locked, as for any decision about it,
 * and so are QEMU's bytes: no writer can start, and a process that wants to open the replica waits
 * for the end of one part. It takes an epoch, or leaves a lock, and the next part finds that.
 */
#pragma once

#include "replication/engine/replica.h"

#include <stdatomic.h>

struct replica_reclaim {
    const atomic_bool *ends;       /* set by another thread; NULL: never */
    atomic_int_least64_t *at_byte; /* progress, for other threads; NULL: not needed */
};

struct replica_reclaimed { /* all zeros before the first call */
    int64_t before_bytes,
        after_bytes; /* usage of the flushed data before the first call, and after */
    int64_t at_byte; /* end of the processed part: the next call goes on there */
};

/*
 * Up to the volume's end, by its state. Takes its time. ERROR_CONFLICT: the replica is in use, was
 * opened meanwhile, or *ends is set; space that was reclaimed until then stays so, and *reclaimed
 * has the progress. ERROR_BAD_REQUEST: its file system cannot punch holes.
 */
int replica_reclaim(const struct replica *replica, const struct replica_reclaim *how,
                    struct replica_reclaimed *reclaimed, struct error *err);
