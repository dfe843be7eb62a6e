/*
 * Snapshots of a volume: files beside the data of the replicas that voted then, each with all that
 * the volume held in one moment, and so the same.  target_snapshot() makes them.  They are nobody's
 * but for who reads them here: neither a rebuild nor another size changes one, and they go with
 * their replica.
 *
 * A snapshot that is not whole, or not on the disk, has another name and is never listed.
 */
#pragma once

#include "replication/engine/replica.h"

#include <stdatomic.h>

struct replica_snapshot {
    char name[UUID_SIZE];
    int64_t size_bytes, used_bytes;
};

/* How many there are; the first `most` of them in *ret. ERROR_NOT_FOUND: the replica is away. */
int replica_snapshot_list(const struct replica *replica, struct replica_snapshot *ret,
                          unsigned most, struct error *err);
/* What the volume had then; 0: it is not there, or cannot be looked at. */
int64_t replica_snapshot_size(const struct replica *replica, const char *name);
bool replica_snapshot_is_there(const struct replica *replica, const char *name);

/* 0: it is gone, or was never there. */
int replica_snapshot_delete(const struct replica *replica, const char *name, struct error *err);

/* Of a copy that runs, for other threads. */
struct replica_copy {
    atomic_bool ends; /* set: it ends soon, as a failure */
    /* Of what is no hole; 0 until it is known.  Blocks that are shared are not counted. */
    atomic_int_least64_t done_bytes, total_bytes;
};

/*
 * replica_create() with the content of the snapshot that stands beside the replica `source`: blocks
 * are shared where the file system can, else copied with their holes, which takes its time.  All
 * replicas in the first generation of a volume must be made so, of one snapshot.  `copy` may be
 * NULL.
 */
int replica_snapshot_clone(const struct replica *source, const char *name,
                           const struct replica *replica, const char *volume, int64_t maximum_bytes,
                           const struct generation *first, struct replica_copy *copy,
                           struct error *err);

/* Makes it beside `replica`, too, which did not vote when it was made: 0 also if it is there.
 * Takes its time, as replica_snapshot_clone() does. */
int replica_snapshot_copy(const struct replica *source, const char *name,
                          const struct replica *replica, struct replica_copy *copy,
                          struct error *err);

/* ---- for target_snapshot() ---- */

enum replica_snapshot_step {
    REPLICA_SNAPSHOT_BEGIN, /* as below, of its size */
    REPLICA_SNAPSHOT_END,
    REPLICA_SNAPSHOT_DELETE,
    REPLICA_SNAPSHOT_TIDY, /* all that were begun and not ended go, whatever their name */
};

/* `abandoned`: set by another thread when nobody waits for it any more: then none becomes whole;
 * NULL: somebody does. */
int replica_snapshot_step(const struct replica *replica, enum replica_snapshot_step step,
                          const char *name, int64_t size_bytes, const atomic_bool *abandoned,
                          struct error *err);
/* Of one that was begun. */
const char *replica_snapshot_path(struct arena *arena, const struct replica *replica,
                                  const char *name);

/* An empty file that is none yet; *ret is its path. */
int replica_snapshot_begin(const struct replica *replica, const char *name, int64_t size_bytes,
                           struct arena *arena, const char **ret, struct error *err);
/* It is whole: from here on it is a snapshot, durably. */
int replica_snapshot_end(const struct replica *replica, const char *name, struct error *err);
