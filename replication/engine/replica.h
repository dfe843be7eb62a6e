/*
 * One replica of a volume: a directory of its own in a pool, named by its uid, with the file "data"
 * that the storage daemon writes to and the file "state" that has the generation of the data
 * (replication/engine/generation.h).
 *
 * Every call may be repeated, also after a crash in the middle of the first: the second finds the
 * files that are there and completes the rest. The state is replaced as a whole and is durable when
 * a call returns. A file that a daemon writes to is never truncated or removed. No function follows
 * a symbolic link in the pool, and file modes admit no other user.
 */
#pragma once

#include "replication/engine/generation.h"

#include <stdatomic.h>
#include <sys/types.h>

struct replica_access;

struct replica {
    const char *pool; /* absolute path of a directory, of its host */
    const char *uid;
    const struct replica_access
        *access;         /* replication/engine/replica_access.h; NULL: the pool is local */
    const char *address; /* of the host, as its access needs it; NULL: local */
};

enum replica_health {
    REPLICA_GOOD,
    REPLICA_GONE,      /* no directory, or no data: `why` is ERROR_NOT_FOUND */
    REPLICA_DAMAGED,   /* too short, not a plain file, a state that is unreadable or another's */
    REPLICA_READ_ONLY, /* its file system takes no writes */
    REPLICA_FAILING,   /* the probe failed: its condition is unknown */
};

struct replica_probe {
    enum replica_health health;
    struct error why; /* unless it is good */
    bool held;        /* a program of QEMU has this very file open */
    dev_t device;     /* of the data, */
    ino_t inode;      /* as its path leads to them now; 0: not known, the replica is remote */
    int64_t bytes;    /* length of the file */
    int64_t used_bytes;
    int64_t free_bytes; /* of the file system */
    int64_t epoch;      /* the highest that opened it; -1: unknown */
    bool has_state;
    struct replica_state state;
};

/*
 * Makes the file, sparse and `maximum_bytes` long: the maximum size of the volume. `first` is the
 * volume's first generation; NULL: the replica is empty and to be rebuilt. An existing replica
 * stays as it is (0), or is of another volume (-1, ERROR_CONFLICT). Data without a state are
 * discarded for a rebuild only (otherwise -1, ERROR_CONFLICT).
 */
int replica_create(const struct replica *replica, const char *volume, int64_t maximum_bytes,
                   const struct generation *first, struct error *err);
/* The same of an empty one, for a call that may be abandoned: when another thread has set
 * *abandoned no new directory remains. */
int replica_create_unless(const atomic_bool *abandoned, const struct replica *replica,
                          const char *volume, int64_t maximum_bytes, struct error *err);

void replica_probe(const struct replica *replica, const char *volume, struct replica_probe *ret);
/* As replica_probe(), where a program that has the file open may have been ended just now: waits a
 * moment for the requests that the kernel still completes. */
void replica_probe_settled(const struct replica *replica, const char *volume,
                           struct replica_probe *ret);

int replica_write_state(const struct replica *replica, const struct replica_state *state,
                        struct error *err);

/* Discards its data, after its state: it is REPLICA_EMPTY, and all holes. ERROR_CONFLICT: a program
 * has the file open. */
int replica_reset(const struct replica *replica, const char *volume, int64_t maximum_bytes,
                  struct error *err);

/* The data are on the disk; reports errors of the kernel's own writing. */
int replica_flush(const struct replica *replica, struct error *err);

/* 0: no file of it is left. ERROR_CONFLICT: a program has the file open. */
int replica_delete(const struct replica *replica, struct error *err);

/* Excludes every other lock of the replica, on this machine and others that share the pool, until
 * the descriptor *ret is closed: held during decisions about the replica. ERROR_CONFLICT: another
 * process has it, for more than a moment. */
int replica_lock(const struct replica *replica, int *ret, struct error *err);

const char *replica_data_path(struct arena *arena, const struct replica *replica);
/* A copy of a local replica, with names that live in `arena`. */
struct replica replica_keep(struct arena *arena, const struct replica *replica);
