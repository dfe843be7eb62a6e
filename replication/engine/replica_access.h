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
 * Requests are made by many threads at once and each returns within a few seconds, whatever the
 * other side does. An unreachable host is ERROR_UNAVAILABLE. A call may come twice, and late:
 * without a response its caller does not know whether it took effect.
 */
#pragma once

#include "replication/engine/replica_snapshot.h"
#include "replication/engine/write_log.h"

#include <limits.h>
#include <stdatomic.h>

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

enum access_kind {
    /*
     * A new session: when this returns, earlier sessions have ended, whatever their epoch, and no
     * write of theirs is in flight any more. The epoch is durable before any other effect.
     * ERROR_CONFLICT: the epoch is lower than one that opened it, or another process holds the
     * file, which is to find the higher epoch there and to close it: retry. ERROR_NOT_FOUND: there
     * is no such replica.
     */
    ACCESS_OPEN,
    /* The session ends, if it is of this epoch. A session that is not closed ends with the next, or
     * when its host finds it unused. */
    ACCESS_CLOSE,
    /* replica_probe(), of any epoch; never -1. `held`: the session of this epoch serves, without
     * interruption since it was opened. Unreachable: REPLICA_FAILING. */
    ACCESS_PROBE,

    /* As the functions of replication/engine/replica.h. Writing a state and resetting check the
     * epoch in the same step: no higher one is taken in between. */
    ACCESS_WRITE_STATE,
    /* Without a session: it is opened afterwards. */
    ACCESS_RESET,
    ACCESS_FLUSH,

    /*
     * For comparisons: the sums of `count` blocks of REPLICA_SUMS_BLOCK bytes (the last one may be
     * shorter: `end` is the volume's) as they stand on the disk, from `at` on. Blocks that are
     * holes at the beginning are skipped: `at` becomes the first block that is summed, or `end`.
     * Returns the number of sums. A `count` of 0, local only: only `at` is determined.
     */
    ACCESS_SUMS,

    /* ---- of a replica at another host ---- */

    /* write_log_begin() and write_log_read() there; an agent of an earlier version refuses both. */
    ACCESS_BEGIN_LOG,
    ACCESS_READ_LOG,

    /* ---- of a replica in a pool of the target's own host ---- */

    ACCESS_LOCK,   /* replica_lock() */
    ACCESS_CREATE, /* replica_create_unless(): an empty one */
    ACCESS_ADOPT,  /* A daemon of this host already has it open: it is of this epoch from now on. */
    ACCESS_READ,   /* For comparisons: `size` bytes as they stand on the disk, from `at` on. */
    ACCESS_SNAPSHOT,      /* replica_snapshot_step() */
    ACCESS_SNAPSHOT_SIZE, /* replica_snapshot_size(), in `bytes`; -1: the pool does not respond. */
};

/* A request and where its results go; each kind has the members that its function needs. */
struct replica_request {
    enum access_kind kind;
    const struct replica *replica;
    int64_t epoch;
    const char *volume;
    int64_t bytes;   /* of the volume: now (SNAPSHOT), or at most */
    int64_t at, end; /* of SUMS and READ */
    unsigned count;
    size_t size; /* of `read` */
    enum replica_snapshot_step step;
    const char *name; /* of a snapshot */
    const struct replica_state *state;
    const struct generation_id *before, *next; /* of a log */
    const atomic_bool *abandoned; /* the caller does not wait any more; NULL: it does */
    /* Results, written on success: */
    struct replica_data *data;
    struct replica_probe *probe;
    unsigned char (*sums)[REPLICA_SUM_SIZE];
    int *lock;
    void *read;
    struct arena *arena; /* of `log` */
    struct write_log *log;
};

struct replica_access {
    /* 0, the number of sums, or -1. A kind that this access does not have: ERROR_BAD_METHOD. */
    int (*call)(void *arg, struct replica_request *request, struct error *err);
    void *arg; /* outlives every target that has it */
};

int replica_request(const struct replica_access *access, struct replica_request *request,
                    struct error *err);
/* Of a call that does not know its kind: -1. */
int replica_request_refuse(const struct replica_request *request, struct error *err);

/* Of replicas in pools of this host, with no session: the daemon opens the file `export`, and
 * QEMU's locks identify its user. Sessions of other hosts are made of it. */
extern const struct replica_access replica_local;
