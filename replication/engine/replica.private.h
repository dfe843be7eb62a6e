/*
 * Shared by the sources of a replica.
 */
#pragma once

#include "replication/engine/replica.h"

struct replica_content {
    int64_t bytes;                /* length of the file at the end */
    const atomic_bool *abandoned; /* by its caller: no directory is made any more; NULL: never */
    /* Writes its first content; NULL: none. */
    int (*write_content)(void *arg, int fd, struct error *err);
    void *arg;
};

/* Prefix of snapshot files; the names of complete ones have a UUID after it. */
#define REPLICA_SNAPSHOT          "snapshot-"
#define REPLICA_COMPLETE_SNAPSHOT ".complete" /* the end of a name, until it is a snapshot */

#define DATA      "data"
#define STATE     "state"
#define STATE_NEW "state.new"

/* ---- replica_directory.c ---- */

/* Error of a call that failed with errno. -1. */
int replica_errno(struct error *err, const struct replica *replica, const char *what);

/* The directory of its pool, and its own; or -1. */
int replica_open_pool(const struct replica *replica, struct error *err);
int replica_open(const struct replica *replica, struct error *err);

/* ---- replica.c ---- */

/* Its data, a plain file, for reading and writing; or -1. */
int replica_open_data(const struct replica *replica, struct error *err);

/* Files of snapshots with names that end so; "": all. */
int replica_remove_snapshots(const struct replica *replica, const char *ending, struct error *err);

/* replica_create() with that content. */
int replica_create_with(const struct replica *replica, const char *volume,
                        const struct replica_content *content, const struct generation *first,
                        struct error *err);

/* ---- replica_state.c ---- */

int replica_write_bytes(int fd, const char *bytes, size_t size, off_t at);

/* The next two: `directory` is that of the replica. */
int replica_put_state(int directory, const struct replica *replica,
                      const struct replica_state *state, struct error *err);
/* 1 read, 0 there is none, -1 it cannot be read or is not this replica's. */
int replica_read_state(int directory, const struct replica *replica, struct replica_state *ret,
                       struct error *err);
