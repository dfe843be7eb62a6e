/*
 * A replica that nobody serves gives back room: zeros in its data become holes
 * (common/image_holes.h).  What it holds stays the same, and so do its state, its sums and its
 * vote; whoever is killed meanwhile leaves nothing to be mended.
 *
 * It goes in small parts.  In each the replica is locked, as by whoever decides about it, and so
 * are QEMU's bytes: nobody can begin to write to what is read, and who wants to open the replica
 * waits for the end of one part.  He takes an epoch, or leaves a lock, and the next part finds
 * that.
 */
#pragma once

#include "replication/engine/replica.h"

#include <stdatomic.h>

struct replica_reclaim {
    const atomic_bool *ends;       /* another thread sets it; NULL: nobody does */
    atomic_int_least64_t *at_byte; /* how far it is, for other threads; NULL: nobody asks */
};

struct replica_reclaimed { /* before the first try: all zeros */
    int64_t before_bytes,
        after_bytes; /* that the data took, flushed, before the first, and after */
    int64_t at_byte; /* as far as it came: the next one goes on there */
};

/*
 * As far as the volume goes, by its state. Takes its time. ERROR_CONFLICT: somebody has the replica
 * open, has opened it meanwhile or works on it, or *ends is set; what was given back until then is,
 * and *reclaimed knows how far that was. ERROR_BAD_REQUEST: its file system takes no part of a file
 * back.
 */
int replica_reclaim(const struct replica *replica, const struct replica_reclaim *how,
                    struct replica_reclaimed *reclaimed, struct error *err);
