/*
 * Configs to evaluate: those changed since a version, themselves or in a document that belongs to
 * them. Found by the index of versions; unchanged documents are not read.
 */
#pragma once

#include "declared/pool_changes.h"
#include "operation/work.h"

#define CHANGES_MOST 1000 /* documents of each kind in one result */

struct changes {
    const char **configs; /* uids, without duplicates */
    unsigned count;
    /* configs of projects with a changed policy, and clones of volumes with a changed snapshot */
    const char **waiting;
    unsigned waiting_count;
    int64_t version;  /* the result has all changes up to this one */
    int64_t draining; /* number of draining pools; -1: not read, as nothing changed */
};

/* Changes after `version`; in the arena. */
int changes_read(struct work *work, int64_t version, struct changes *ret, struct error *err);

/* A config and its version. */
struct changes_config {
    int64_t version;
    const char *id;
};

/* The next configs after `version` and up to `last`, at most `most`: their number, or -1. */
int changes_walk(struct work *work, int64_t version, int64_t last, unsigned most,
                 struct changes_config **ret, struct error *err);
/* Versions of configs with a replica in the pool, or with their volume at one of the change's
 * nodes: their number, or -1. May have duplicates. */
int changes_of_pool(struct work *work, const struct pool_change *change, int64_t **ret,
                    struct error *err);
