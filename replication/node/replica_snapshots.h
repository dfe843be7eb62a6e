/*
 * Snapshots of one replica of this node, as assigned by its document: files beside its data.  One
 * is deleted for one reason only: the document names it as removed.
 */
#pragma once

#include "replication/node/assignment.h"

struct snapshot_copier;

struct replica_snapshots_status {
    json_t *list; /* for the status of the replica; the caller's; NULL: unknown */
    bool copying; /* one is being copied */
    bool waits;   /* not all are as assigned */
};

/* Deletes snapshots, starts or continues copies, and reads the status. */
void replica_snapshots_reconcile(struct snapshot_copier *copier, const struct replica *replica,
                                 const struct assignment *assignment,
                                 struct replica_snapshots_status *ret);
