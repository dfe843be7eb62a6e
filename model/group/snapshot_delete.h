/*
 * Deleting a group snapshot with all of its snapshots, by one operation.  Each is marked before its
 * backend destroys it, like a single one; their rows are removed together, when all are gone.
 */
#pragma once

#include "model/group/snapshot.h"
#include "operation/operation.h"

int group_snapshot_delete(struct work *work, const struct group_snapshot *group_snapshot,
                          struct error *err);

/* Its result. */
struct group_snapshot_delete_ending {
    const struct error *failure; /* NULL: all are gone */
    const bool *is_part;         /* is each of snapshot_of_group() for a host? */
    int count;
};
/* For the worker that holds it: the hosts of guests do the rest (snapshot_part.h).  The
 * argument is such an ending, without a failure. */
operation_body group_snapshot_delete_share;
