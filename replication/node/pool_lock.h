/*
 * The lock of a pool: of several storage agents with the same directory one has the pool, for as
 * long as its process lives.  The lock is on the pool's mark (pool_status.h), and no storage daemon
 * holds it, so that an agent that is started again has it at once.  A file system without locks
 * does without.
 *
 * Belongs to one thread at a time.
 */
#pragma once

#include "common/error.h"

#include <stdbool.h>

struct pool_lock {
    int fd;       /* of the mark; -1: the lock is not held */
    bool no_lock; /* the file system has none, and the log says so */
};

#define POOL_LOCK_NONE ((struct pool_lock){ .fd = -1 })

/* Takes the lock of the mark that is there now, unless it is held already.  Without a mark there is
 * nothing to lock.  ERROR_CONFLICT: another agent has the pool. */
int pool_lock_keep(struct pool_lock *lock, const char *path, struct error *err);
/* pool_lock_keep() of a pool with this name in its mark, for a caller that a directory which does
 * not answer must not hold up: there it changes nothing. */
int pool_lock_begin(struct pool_lock *lock, const char *path, const char *name, struct error *err);
void pool_lock_end(struct pool_lock *lock);
