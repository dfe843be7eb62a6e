/*
 * Which configs have to be looked at: those that changed, or something of theirs did, since a
 * number of the documents.  Found by the index of numbers; nothing is read that did not change.
 */
#pragma once

#include "declared/pool_changes.h"
#include "ledger/work.h"

#define CHANGES_MOST 1000 /* documents of each kind that are told at once */

struct changes {
    const char **configs; /* uids, each once */
    unsigned count;
    const char **waiting; /* all of the projects where a policy was made or changed, and clones of
                           * a volume of which a snapshot was */
    unsigned waiting_count;
    int64_t version;  /* all up to this one are among them */
    int64_t draining; /* how many pools are; -1: not read, as nothing has changed */
};

/* Of those after `version`; in the arena. */
int changes_read(struct work *work, int64_t version, struct changes *ret, struct error *err);

/* A config, and the version that it has. */
struct changes_config {
    int64_t version;
    const char *id;
};

/* The next configs of all, at most `most`, after `version` and no later than `last`: how many, or
 * -1. */
int changes_walk(struct work *work, int64_t version, int64_t last, unsigned most,
                 struct changes_config **ret, struct error *err);
/* The versions of configs with a replica in the pool, or a volume at one of these nodes: how many,
 * or -1; some may be there twice. */
int changes_of_pool(struct work *work, const struct pool_change *change, int64_t **ret,
                    struct error *err);
