/*
 * The lock of a pool: one of several storage agents with the same directory has the pool, as long
 * as its process lives.  The lock is on the pool's mark (pool_status.h) and is not inherited by
 * storage daemons, so that a restarted agent gets it at once.  A file system without locks is used
 * without one.
 *
 * Belongs to one thread at a time.
 */
#pragma once

#include "common/error.h"

#include <stdbool.h>

struct pool_lock {
    int fd;       /* of the mark; -1: not locked */
    bool no_lock; /* not supported by the file system, which was logged */
};

#define POOL_LOCK_NONE ((struct pool_lock){ .fd = -1 })

/* Locks the current mark, unless it is locked already.  Without a mark nothing is locked.
 * ERROR_CONFLICT: another agent has the pool. */
int pool_lock_keep(struct pool_lock *lock, const char *path, struct error *err);
/* pool_lock_keep() of a pool whose mark has this name, with a timeout for a directory that does not
 * answer: then nothing is locked. */
int pool_lock_begin(struct pool_lock *lock, const char *path, const char *name, struct error *err);
void pool_lock_end(struct pool_lock *lock);
