/*
 * One replica of a volume: a directory of its own in a pool, named by its uid, with the file "data"
 * that the storage daemon writes to and the file "state" that says what the data are worth
 * (replication/engine/generation.h).
 *
 * Every call may come twice, and behind a crash in the middle of the first: the second finds what
 * is there and does the rest.  The state is replaced as a whole and is durable when a call returns.
 * What a daemon writes to is never truncated or removed.  Nothing here follows a symbolic link in
 * the pool, and modes let in nobody else.
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
        *access;         /* replication/engine/replica_access.h; NULL: the pool is here */
    const char *address; /* of the host, as its access wants it; NULL: here */
};

enum replica_health {
    REPLICA_GOOD,
    REPLICA_GONE,    /* no directory, or no data: `why` is ERROR_NOT_FOUND */
    REPLICA_DAMAGED, /* too short, not a plain file, a state that cannot be read or is another's */
    REPLICA_READ_ONLY, /* its file system takes no writes */
    REPLICA_FAILING,   /* looking failed, which says nothing about it */
};

struct replica_probe {
    enum replica_health health;
    struct error why; /* unless it is good */
    bool held;        /* a program of QEMU has this very file open */
    dev_t device;     /* of the data, */
    ino_t inode;      /* as its path leads to them now; 0: not known, the replica is remote */
    int64_t bytes;    /* how long the file is */
    int64_t used_bytes;
    int64_t free_bytes; /* of the file system */
    int64_t epoch;      /* the highest that opened it; -1: it cannot be told */
    bool has_state;
    struct replica_state state;
};

/*
 * Makes the file, sparse and `maximum_bytes` long: as far as the volume may grow.  `first` is the
 * volume's first generation; NULL: the replica is empty and to be rebuilt.  One that is there
 * already stays as it is (0), or is of another volume (-1, ERROR_CONFLICT).  Data whose state is
 * lost are thrown away for a rebuild, and for nothing else (-1, ERROR_CONFLICT).
 */
int replica_create(const struct replica *replica, const char *volume, int64_t maximum_bytes,
                   const struct generation *first, struct error *err);
/* The same of an empty one, for who may be left behind at it: when another thread has set *left
 * there is no directory that was not there before. */
int replica_create_unless(const atomic_bool *abandoned, const struct replica *replica,
                          const char *volume, int64_t maximum_bytes, struct error *err);

void replica_probe(const struct replica *replica, const char *volume, struct replica_probe *ret);
/* As replica_probe(), where a program that has the file open may have been ended just now: what the
 * kernel still does for it is waited for, a moment. */
void replica_probe_settled(const struct replica *replica, const char *volume,
                           struct replica_probe *ret);

int replica_write_state(const struct replica *replica, const struct replica_state *state,
                        struct error *err);

/* Throws its data away, and says so first: it is REPLICA_EMPTY, and all holes.  ERROR_CONFLICT: a
 * program has the file open. */
int replica_reset(const struct replica *replica, const char *volume, int64_t maximum_bytes,
                  struct error *err);

/* The data are on the disk; tells what failed in the writing behind any program's back. */
int replica_flush(const struct replica *replica, struct error *err);

/* 0: nothing of it is left, or was there.  ERROR_CONFLICT: a program has the file open. */
int replica_delete(const struct replica *replica, struct error *err);

/* Keeps every other lock of the replica away, on this machine and others that share the pool, until
 * the descriptor *ret is closed: who decides about it holds this.  ERROR_CONFLICT: another does,
 * for more than a moment. */
int replica_lock(const struct replica *replica, int *ret, struct error *err);

const char *replica_data_path(struct arena *arena, const struct replica *replica);
/* The same of a pool here, with names that live in `arena`. */
struct replica replica_keep(struct arena *arena, const struct replica *replica);
