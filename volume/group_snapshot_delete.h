/*
 * Deleting a group snapshot with all of its snapshots, by one operation.  Each is marked before its
 * backend is told to destroy it, as one alone is; their rows go together, when all are gone.
 */
#pragma once

#include "ledger/operation.h"
#include "volume/group_snapshot.h"

int group_snapshot_delete(struct work *work, const struct group_snapshot *group_snapshot,
                          struct error *err);

/* What finishes it. */
struct group_snapshot_delete_ending {
    const struct error *failure; /* NULL: all are gone */
    const bool *is_part;         /* is each, as snapshot_of_group() has them, left to a host? */
    int count;
};
/* For the worker that holds it: the hosts of guests do what is left (group_snapshot_part.h).  The
 * argument is such an ending, without a failure. */
operation_body group_snapshot_delete_share;
