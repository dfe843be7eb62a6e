/*
 * Making a group snapshot: from POST /group_snapshots to a snapshot of each of the group's volumes.
 * One operation makes them all, while nothing else works on any of the volumes; when one cannot be
 * made, none is any good.
 *
 * Where snapshots of one moment are promised and several volumes are attached, these are taken by
 * the host of the one guest that has them all, together: their snapshots stand in the operation's
 * arguments.  Nothing is attached meanwhile, so what nobody has stays as it is: one whose guest
 * leaves before the host is asked is taken by its storage, which is never asked for one that is
 * still in use, and those that remain go together without it.
 */
#pragma once

#include "ledger/operation.h"
#include "volume/create.h"
#include "volume/group.h"
#include "volume/group_snapshot.h"
#include "volume/snapshot.h"

struct group_snapshot_new {
    const char *name, *description; /* its snapshots' as well */
};

int group_snapshot_create(struct work *work, const struct volume_group *group,
                          const struct group_snapshot_new *request, struct group_snapshot *ret,
                          struct error *err);

/* What finishes it. */
struct group_snapshot_ending {
    const struct error *failure;      /* NULL: all are made */
    const struct create_ending *each; /* then: of each, in the order of snapshot_of_group() */
    const bool *is_part;              /* is each left to the host of a guest? */
    int count;
    bool later; /* written where it is shared: it is not its turn, and nothing has changed */
};
/* For the worker that holds it: what is made is noted, and the hosts of guests make the others
 * (group_snapshot_part.h).  The argument is such an ending, without a failure. */
operation_body group_snapshot_create_share;
