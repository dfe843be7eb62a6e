/*
 * How a target reaches a replica that is not in a pool of its own host: an agent at the replica's
 * host serves the data over NBD and changes the files on the target's behalf.
 *
 * A target has an epoch: a number that grows each time the volume is given to another host. The
 * replica keeps the highest that ever opened it, durably, in a file of its own that outlives its
 * state (replication/engine/replica_epoch.h). Every call names the epoch of its caller, and a lower
 * one is refused (ERROR_CONFLICT) and changes neither data nor state. So a target that was paused,
 * or disconnected, while the volume went to another host cannot change a replica that the other has
 * opened.
 *
 * The functions are called by many threads at once and each returns within a few seconds, whatever
 * the other side does. An unreachable host is ERROR_UNAVAILABLE. A call may come twice, and late:
 * without a response its caller does not know whether it took effect.
 */
#pragma once

#include "replication/engine/replica_snapshot.h"
#include "replication/engine/write_log.h"

#include <limits.h>

#define REPLICA_SUMS_BLOCK 4096
#define REPLICA_SUMS_MOST  64 /* blocks in one call */
#define REPLICA_SUM_SIZE   16 /* MD5 */

/* Address of the data for the daemon: an export of the whole file, writable, for several clients.
 */
struct replica_data {
    char host[256]; /* a numeric address, or a name */
    char port[8];
    char export[PATH_MAX]; /* its name, that of no earlier session; with no host: the file */
    char tls_name[256];    /* in the server's certificate; empty: the host */
};

struct replica_access {
    /*
     * A new session: when this returns, earlier sessions have ended, whatever their epoch, and no
     * write of theirs is in flight any more. The epoch is durable before any other effect.
     * ERROR_CONFLICT: the epoch is lower than one that opened it, or another process holds the
     * file, which is to find the higher epoch there and to close it: retry. ERROR_NOT_FOUND: there
     * is no such replica.
     */
    int (*open)(void *arg, const struct replica *replica, const char *volume, int64_t epoch,
                struct replica_data *ret, struct error *err);

    /* The session ends, if it is of this epoch. A session that is not closed ends with the next, or
     * when its host finds it unused. */
    int (*close)(void *arg, const struct replica *replica, int64_t epoch, struct error *err);

    /* As replica_probe(), of any epoch. `held`: the session of this epoch serves, without
     * interruption since it was opened. Unreachable: REPLICA_FAILING. */
    void (*probe)(void *arg, const struct replica *replica, const char *volume, int64_t epoch,
                  struct replica_probe *ret);

    /* As the functions of replication/engine/replica.h. Writing a state and resetting check the
     * epoch in the same step: no higher one is taken in between. */
    int (*write_state)(void *arg, const struct replica *replica, int64_t epoch,
                       const struct replica_state *state, struct error *err);
    /* Called without a session: it is opened afterwards. */
    int (*reset)(void *arg, const struct replica *replica, const char *volume,
                 int64_t maximum_bytes, int64_t epoch, struct error *err);
    int (*flush)(void *arg, const struct replica *replica, int64_t epoch, struct error *err);

    /* ---- optional ones; NULL: not available for this replica ---- */

    /*
     * For comparisons: the sums of `count` blocks of REPLICA_SUMS_BLOCK bytes (the last one may be
     * shorter: `end` is the volume's) as they stand on the disk, from *at on. Blocks that are holes
     * at the beginning are skipped: *at is the first block that is summed, or `end`. Returns the
     * number of sums. A `count` of 0, local only: only *at is determined.
     */
    int (*sums)(void *arg, const struct replica *replica, int64_t epoch, int64_t *at, int64_t end,
                unsigned count, unsigned char (*ret)[REPLICA_SUM_SIZE], struct error *err);

    /* write_log_begin() and write_log_read() at another host, which has its replica's log. */
    int (*begin_log)(void *arg, const struct replica *replica, int64_t epoch,
                     const struct generation_id *before, const struct generation_id *next,
                     struct error *err);
    int (*read_log)(void *arg, const struct replica *replica, int64_t epoch, struct arena *arena,
                    struct write_log *ret, struct error *err);

    /* ---- of a replica in a pool of the target's own host; NULL: it is at another ---- */

    /* replica_lock() */
    int (*lock)(void *arg, const struct replica *replica, int *ret, struct error *err);
    /* replica_create() of an empty one. */
    int (*create)(void *arg, const struct replica *replica, const char *volume,
                  int64_t maximum_bytes, struct error *err);
    /* A daemon of this host already has it open: it is of this epoch from now on. */
    int (*adopt)(void *arg, const struct replica *replica, int64_t epoch, struct error *err);
    /* For comparisons: bytes as they stand on the disk. */
    int (*read)(void *arg, const struct replica *replica, int64_t at, size_t size, void *ret,
                struct error *err);

    /* replica_snapshot_step() that is not abandoned. */
    int (*snapshot)(void *arg, const struct replica *replica, enum replica_snapshot_step step,
                    const char *name, int64_t size_bytes, struct error *err);
    /* replica_snapshot_size(); -1: the pool does not respond. */
    int64_t (*snapshot_size)(void *arg, const struct replica *replica, const char *name);

    void *arg; /* outlives every target that has it */
};

/* Of replicas in pools of this host, with no session: the daemon opens the file `export`, and
 * QEMU's locks identify its user. Sessions of other hosts are made of it. */
extern const struct replica_access replica_local;
