/*
 * Snapshots of a volume: files beside the data of the replicas that voted then, each with the whole
 * content of the volume at one moment, and so the same. target_snapshot() makes them. Only the
 * functions below read and delete them: neither a rebuild nor a resize changes one, and they are
 * deleted with their replica.
 *
 * A snapshot that is incomplete, or not on the disk, has another name and is never listed; so does
 * a complete one until as many replicas as are needed have theirs: none is a snapshot before that.
 * So where one replica has the snapshot, and is away afterwards, one of the others has it, or its
 * complete file: none of another moment is taken in its place.
 */
#pragma once

#include "replication/engine/replica.h"

#include <stdatomic.h>

struct replica_snapshot {
    char name[UUID_SIZE];
    int64_t size_bytes, used_bytes;
};

/* The number of them; the first `most` in *ret. ERROR_NOT_FOUND: the replica is missing. */
int replica_snapshot_list(const struct replica *replica, struct replica_snapshot *ret,
                          unsigned most, struct error *err);
/* The volume's size then; 0: there is none, or it cannot be read. */
int64_t replica_snapshot_size(const struct replica *replica, const char *name);
bool replica_snapshot_is_there(const struct replica *replica, const char *name);

/* 0: it does not exist any more. */
int replica_snapshot_delete(const struct replica *replica, const char *name, struct error *err);

/* Progress of a running copy, for other threads. */
struct replica_copy {
    atomic_bool ends; /* set by another thread: the copy fails soon */
    /* Of data without holes; 0 until known. Shared blocks are not counted. */
    atomic_int_least64_t done_bytes, total_bytes;
};

/*
 * replica_create() with the content of the snapshot beside the replica `source`: blocks are shared
 * where the file system can, else copied with their holes, which takes its time. All replicas in
 * the first generation of a volume must be made so, of one snapshot. `copy` may be NULL.
 */
int replica_snapshot_clone(const struct replica *source, const char *name,
                           const struct replica *replica, const char *volume, int64_t maximum_bytes,
                           const struct generation *first, struct replica_copy *copy,
                           struct error *err);

/* Copies it to `replica`, which did not vote when it was made: 0 also if it exists there. Takes its
 * time, as replica_snapshot_clone() does. */
int replica_snapshot_copy(const struct replica *source, const char *name,
                          const struct replica *replica, struct replica_copy *copy,
                          struct error *err);

/* ---- for target_snapshot() ---- */

enum replica_snapshot_step {
    REPLICA_SNAPSHOT_BEGIN,    /* as below, with its size */
    REPLICA_SNAPSHOT_COMPLETE, /* its data are on the disk, durably */
    REPLICA_SNAPSHOT_END,      /* the complete one is a snapshot. ERROR_NOT_FOUND: there is none */
    REPLICA_SNAPSHOT_DELETE,
    REPLICA_SNAPSHOT_TIDY, /* deletes all incomplete ones, whatever their name */
};

/* `abandoned`: set by another thread when the caller has stopped waiting: then no snapshot becomes
 * complete; NULL: never. */
int replica_snapshot_step(const struct replica *replica, enum replica_snapshot_step step,
                          const char *name, int64_t size_bytes, const atomic_bool *abandoned,
                          struct error *err);
/* Path of an incomplete one. */
const char *replica_snapshot_path(struct arena *arena, const struct replica *replica,
                                  const char *name);

/* Makes the empty file of an incomplete one, in the place of earlier ones that are no snapshot;
 * *ret is its path. */
int replica_snapshot_begin(const struct replica *replica, const char *name, int64_t size_bytes,
                           struct arena *arena, const char **ret, struct error *err);
/* It is complete: a snapshot from now on, durably. For a copy of a snapshot. */
int replica_snapshot_end(const struct replica *replica, const char *name, struct error *err);
