/*
 * Order of work on the files below running guests, where several snapshots are of one moment: a
 * host takes these only after the requests for all of them, so they begin on all their volumes at
 * once, when no host works on any of them, and then no other operation begins on one of them.
 *
 * A waiting operation holds neither a worker nor a place; it is retried later.  The older one goes
 * first, whether it is such a group snapshot or work on one snapshot: so there is no deadlock and
 * no starvation.
 */
#pragma once

#include "model/group/snapshot_part.h"

/* For one on a snapshot that would begin at its volume's files: must it wait for a group snapshot
 * of one moment, of which it is no part?  1, 0. */
int group_snapshot_turn_taken(struct work *work, const struct operation *held, struct error *err);
/* For a group snapshot of one moment with these `parts`: must one wait?  1, 0. */
int group_snapshot_turn_awaits(struct work *work, const struct operation *held,
                               const struct group_snapshot_parts *parts, struct error *err);
