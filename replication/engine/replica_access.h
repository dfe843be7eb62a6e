/*
 * How a target reaches a replica that is not in a pool of its own host: an agent at the replica's
 * host serves the data over NBD and does with the files what the target asks for.
 *
 * A target has an epoch: a number that grows each time the volume is given to another host.  The
 * replica keeps the highest that ever opened it, durably, in a file of its own that outlives its
 * state (replication/engine/replica_epoch.h).  Every call names the epoch of its caller, and one
 * that is lower is refused (ERROR_CONFLICT) and changes nothing: neither data nor state.  So a
 * target that was paused, or cut off, while the volume went to another host cannot touch what the
 * other has opened.
 *
 * The functions are called by many threads at once and each returns within a few seconds, whatever
 * the other side does.  What cannot be reached is ERROR_UNAVAILABLE.  A call may come twice, and
 * late: each is either done or not when its caller hears nothing.
 */
#pragma once

#include "replication/engine/replica_snapshot.h"
#include "replication/engine/write_log.h"

#include <limits.h>

#define REPLICA_SUMS_BLOCK 4096
#define REPLICA_SUMS_MOST  64 /* blocks in one call */
#define REPLICA_SUM_SIZE   16 /* MD5 */

/* Where the daemon finds the data: an export of the whole file, writable, for several clients. */
struct replica_data {
    char host[256]; /* an address in numbers, or a name */
    char port[8];
    char export[PATH_MAX]; /* its name, that of no session before; with no host: the file */
    char tls_name[256];    /* that the server's certificate is to have; empty: the host */
};

struct replica_access {
    /*
     * A new session: what served the replica before has ended, whatever its epoch, and nothing that
     * was on its way there is written any more, when this returns.  The epoch is durable before
     * anything else is done.  ERROR_CONFLICT: the epoch is lower than one that opened it, or
     * somebody decides about the file who is to find the higher epoch there and to let go: come
     * again.  ERROR_NOT_FOUND: there is no such replica.
     */
    int (*open)(void *arg, const struct replica *replica, const char *volume, int64_t epoch,
                struct replica_data *ret, struct error *err);

    /* The session ends, if it is of this epoch.  One that nobody closes ends with the next, or when
     * its host sees that nobody uses it. */
    int (*close)(void *arg, const struct replica *replica, int64_t epoch, struct error *err);

    /* As replica_probe(), of any epoch.  `held`: the session of this epoch serves, and did from its
     * opening on.  Not reached: REPLICA_FAILING. */
    void (*probe)(void *arg, const struct replica *replica, const char *volume, int64_t epoch,
                  struct replica_probe *ret);

    /* As the functions of replication/engine/replica.h.  Who writes a state, or resets, checks the
     * epoch in the same step: nobody takes a higher one in between. */
    int (*write_state)(void *arg, const struct replica *replica, int64_t epoch,
                       const struct replica_state *state, struct error *err);
    /* Is called without a session: it is opened behind it. */
    int (*reset)(void *arg, const struct replica *replica, const char *volume,
                 int64_t maximum_bytes, int64_t epoch, struct error *err);
    int (*flush)(void *arg, const struct replica *replica, int64_t epoch, struct error *err);

    /* ---- optional ones; NULL: it cannot be done with this replica ---- */

    /*
     * For comparing: the sums of `count` blocks of REPLICA_SUMS_BLOCK bytes (the last one may be
     * shorter: `end` is the volume's) as they stand on the disk, from *at on.  Blocks that are
     * holes at the beginning are skipped: *at is the first block that is summed, or `end`.  How
     * many sums there are.  A `count` of 0, here alone: only *at is wanted.
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
    /* A daemon of this host has had it open since before: it is of this epoch from now on. */
    int (*adopt)(void *arg, const struct replica *replica, int64_t epoch, struct error *err);
    /* For comparing: bytes as they stand on the disk. */
    int (*read)(void *arg, const struct replica *replica, int64_t at, size_t size, void *ret,
                struct error *err);

    /* replica_snapshot_step() that somebody waits for. */
    int (*snapshot)(void *arg, const struct replica *replica, enum replica_snapshot_step step,
                    const char *name, int64_t size_bytes, struct error *err);
    /* replica_snapshot_size(); -1: the pool does not answer. */
    int64_t (*snapshot_size)(void *arg, const struct replica *replica, const char *name);

    void *arg; /* outlives every target that has it */
};

/* Of replicas in pools of this host, with no session: the daemon opens the file `export`, and the
 * locks of QEMU say who has it.  What serves one to another host is made of it. */
extern const struct replica_access replica_local;
