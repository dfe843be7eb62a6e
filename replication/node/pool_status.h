/*
 * A pool on the disk: a directory with the mark of the pool of that name.
 *
 * The mark distinguishes the pool from an empty mount point and from another pool mounted in its
 * place: without the mark, or with another one, nothing is created, deleted or taken for lost.
 */
#pragma once

#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define POOL_MARK  "scoria-pool"
#define POOL_PROBE POOL_MARK ".probe" /* temporary file of health probes */

enum pool_state {
    POOL_ONLINE,
    POOL_READ_ONLY,
    POOL_GONE,    /* missing, or empty and without a mark */
    POOL_FOREIGN, /* with another mark, or without one and not empty */
    POOL_FAILING, /* another error, or unresponsive */
};

enum pool_chance { /* of a directory without a mark, to become the pool */
                   POOL_NO_CHANCE,
                   POOL_EMPTY, /* the directory is empty: if the API does not know the pool */
                   POOL_GIVEN, /* the mark is an empty file, put there by an operator */
};

struct pool_status {
    enum pool_state state;
    enum pool_chance chance;
    struct error why; /* unless it is online */
    int64_t total_bytes, free_bytes;
    dev_t device; /* identity of the directory */
    ino_t inode;
    int64_t unresponsive_ms; /* 0: responsive */
    bool in_use;             /* locked by another agent: it is foreign */
    bool hangs;              /* unresponsive for long: sessions of its replicas end */
};

void pool_status_read(const char *path, const char *name, struct pool_status *ret);
/* Marks the directory as the pool. */
int pool_mark(const char *path, const char *name, struct error *err);

bool pool_is_marked(const struct pool_status *status);
const char *pool_state_text(enum pool_state state);
