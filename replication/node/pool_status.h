/*
 * A pool as it is on the disk: a directory that is marked as the pool of that name.
 *
 * The mark tells the pool from the empty directory below it, which is there when its file system is
 * not mounted, and from another pool that was mounted in its place: where the mark is missing or
 * another's, nothing is made, removed or believed to be gone.
 */
#pragma once

#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define POOL_MARK  "scoria-pool"
#define POOL_PROBE POOL_MARK ".probe" /* what a health probe writes and removes */

enum pool_state {
    POOL_ONLINE,
    POOL_READ_ONLY,
    POOL_GONE,    /* no directory, or an empty one without a mark */
    POOL_FOREIGN, /* marked as another, or not marked and not empty */
    POOL_FAILING, /* looking failed otherwise, or it does not answer */
};

enum pool_chance { /* of one that is not marked to become the pool */
                   POOL_NO_CHANCE,
                   POOL_EMPTY, /* if it was never seen before: the directory is empty */
                   POOL_GIVEN, /* its mark is an empty file: an operator says that it is the pool */
};

struct pool_status {
    enum pool_state state;
    enum pool_chance chance;
    struct error why; /* unless it is online */
    int64_t total_bytes, free_bytes;
    dev_t device; /* of the directory, to see that it is still the same */
    ino_t inode;
    int64_t unresponsive_ms; /* that it has not answered; 0: it has */
    bool in_use;             /* another agent has its lock: it is foreign */
    bool hangs;              /* for long: its replicas are served to no other node */
};

void pool_status_read(const char *path, const char *name, struct pool_status *ret);
/* The directory is the pool from now on. */
int pool_mark(const char *path, const char *name, struct error *err);

bool pool_is_marked(const struct pool_status *status);
const char *pool_state_text(enum pool_state state);
