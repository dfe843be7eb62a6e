/*
 * Making a group snapshot: from POST /group_snapshots to a snapshot of each of the group's volumes.
 * One operation makes them all, while nothing else works on any of the volumes; when one cannot be
 * made, all are unusable.
 *
 * Where snapshots of one moment are promised and several volumes are attached, these are taken by
 * the host of the one guest that has them all, together: their snapshots stand in the operation's
 * arguments.  Nothing is attached meanwhile, so detached volumes stay unchanged: a volume whose
 * guest leaves before the request to the host is taken by its storage, which never takes one that
 * is still in use, and the remaining ones are taken together without it.
 */
#pragma once

#include "model/group/group.h"
#include "model/group/snapshot.h"
#include "model/snapshot/snapshot.h"
#include "model/volume/create.h"
#include "operation/operation.h"

struct group_snapshot_new {
    const char *name, *description; /* its snapshots' as well */
};

int group_snapshot_create(struct work *work, const struct volume_group *group,
                          const struct group_snapshot_new *request, struct group_snapshot *ret,
                          struct error *err);

/* Its result. */
struct group_snapshot_ending {
    const struct error *failure;      /* NULL: all are made */
    const struct create_ending *each; /* then: of each, in the order of snapshot_of_group() */
    const bool *is_part;              /* is each for the host of a guest? */
    int count;
    bool later; /* set where it is shared: it is not its turn, and nothing has changed */
};
/* For the worker that holds it: stores the snapshots made so far, and lets the hosts of guests make
 * the others (snapshot_part.h).  The argument is such an ending, without a failure. */
operation_body group_snapshot_create_share;
