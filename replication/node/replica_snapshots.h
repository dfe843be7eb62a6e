/*
 * The snapshots that one replica of this node is to hold, or to remove, as its document says: files
 * beside its data.  One goes for one reason alone: the document names it and says so.
 */
#pragma once

#include "replication/node/assignment.h"

struct snapshot_copier;

struct replica_snapshots_status {
    json_t *list; /* the caller's, for the status of the replica; NULL: it could not be looked */
    bool copying; /* one is on its way */
    bool waits;   /* not all is as it is to be */
};

/* Removes, begins copies or goes on with them, and looks. */
void replica_snapshots_reconcile(struct snapshot_copier *copier, const struct replica *place,
                                 const struct assignment *assignment,
                                 struct replica_snapshots_status *ret);
