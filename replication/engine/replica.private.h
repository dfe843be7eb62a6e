/*
 * What the files of a replica share.
 */
#pragma once

#include "replication/engine/replica.h"

struct replica_content {
    int64_t bytes;                /* how long the file is at the end */
    const atomic_bool *abandoned; /* by who made it: no directory is made any more; NULL: never */
    /* Writes what it begins with; NULL: nothing. */
    int (*write_content)(void *arg, int fd, struct error *err);
    void *arg;
};

/* How the names of the files of snapshots begin; those that are whole have a uuid behind it. */
#define REPLICA_SNAPSHOT "snapshot-"

#define DATA      "data"
#define STATE     "state"
#define STATE_NEW "state.new"

/* Of what failed with errno. -1. */
int replica_errno(struct error *err, const struct replica *replica, const char *what);

/* Its directory, or -1. */
int replica_open(const struct replica *replica, struct error *err);

/* Its data, a plain file, for reading and writing; or -1. */
int replica_open_data(const struct replica *replica, struct error *err);

/* Snapshots that were begun and not ended; `all`: and those that are whole. */
int replica_remove_snapshots(const struct replica *replica, bool all, struct error *err);

/* replica_create() with that content. */
int replica_create_with(const struct replica *replica, const char *volume,
                        const struct replica_content *content, const struct generation *first,
                        struct error *err);

/* ---- replica_state.c: of the replica whose directory that is ---- */

int replica_put_state(int directory, const struct replica *replica,
                      const struct replica_state *state, struct error *err);
/* 1 read, 0 there is none, -1 it cannot be read or is not this replica's. */
int replica_read_state(int directory, const struct replica *replica, struct replica_state *ret,
                       struct error *err);
