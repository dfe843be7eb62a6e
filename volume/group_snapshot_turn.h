/*
 * Whose turn it is at the files below running guests, where several snapshots are of one moment: a
 * host takes these only when it has been asked for all of them, so they begin on all their volumes
 * at once, when nothing that a host has a part in stands on any, and then nothing else begins on
 * one of them.
 *
 * Whoever has to wait holds neither a worker nor a place; it looks again later.  The older goes
 * first, whether it is such a group snapshot or work on one snapshot: so nobody waits in a circle,
 * and nobody is overtaken for ever.
 */
#pragma once

#include "volume/group_snapshot_part.h"

/* For one on a snapshot that would begin at its volume's files: has it to wait for a group snapshot
 * of one moment, of which it is no part? 1, 0. */
int group_snapshot_turn_taken(struct work *work, const struct operation *held, struct error *err);
/* For a group snapshot of one moment that would hand over `parts`: has one to wait? 1, 0. */
int group_snapshot_turn_awaits(struct work *work, const struct operation *held,
                               const struct group_snapshot_parts *parts, struct error *err);
