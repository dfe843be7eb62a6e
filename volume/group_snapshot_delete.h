/*
 * Deleting a group snapshot with all of its snapshots, by one operation.  Each is marked before its
 * backend is told to destroy it, as one alone is; their rows go together, when all are gone.
 */
#pragma once

#include "volume/group_snapshot.h"

int group_snapshot_delete(struct work *work, const struct group_snapshot *group_snapshot,
                          struct error *err);

/* What finishes it. */
struct group_snapshot_delete_ending {
    const struct error *failure; /* NULL: all are gone */
    bool busy;                   /* a guest stands in the way */
};
