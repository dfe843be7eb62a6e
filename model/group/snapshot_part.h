/*
 * Parts of the work on a group snapshot: the members that need the host of a guest.  Each is an
 * operation on the member's snapshot, like that of a single one: with its queue, the host's report,
 * a deadline, an end when the guest leaves.  The group snapshot's operation waits for them without
 * an owner and a deadline, keeps its volumes from being attached meanwhile, and ends with the last
 * of them (operation_part_ended()).
 */
#pragma once

#include "model/group/snapshot.h"
#include "model/operations.h"
#include "model/snapshot/snapshot.h"

/* The parts for hosts, when all else is done. */
struct group_snapshot_parts {
    const struct operation_kind *kind;
    const struct snapshot *snapshots;
    const bool *is_part; /* of each */
    int count;
};
/* For the worker that holds it, which releases it: they take its place in the queue. */
int group_snapshot_hand_over(struct work *work, const struct operation *held,
                             const struct group_snapshot_parts *parts, struct error *err);
/* When all parts have ended: its snapshots, how many; or -1.  0: not yet, or there were none. */
int group_snapshot_parts_ended(struct work *work, const struct operation *operation,
                               struct snapshot **ret, struct error *err);
/* The operation's arguments about those of one moment, an array of their ids; NULL where that has
 * fewer than two, or is NULL. */
const char *group_snapshot_arguments(struct arena *arena, const json_t *together);
bool group_snapshot_is_of_moment(struct arena *arena, const struct operation *operation);
bool group_snapshot_is_together(struct arena *arena, const struct operation *operation,
                                const char *snapshot_id);
/* The others that the host must take together with this one, itself among them: how many; 0 it is
 * taken alone.  ERROR_CONFLICT when the group snapshot no longer waits for it. */
int group_snapshot_together(struct work *work, const struct snapshot *snapshot,
                            const char *const **ret, struct error *err);
/* Before the parts begin: has a guest left one of them, so that its storage takes it?  1, 0. */
int group_snapshot_has_left(struct work *work, const struct group_snapshot_parts *parts,
                            struct error *err);
/* Then only these are taken together; a last one is taken alone. */
int group_snapshot_narrow(struct work *work, const struct operation *held,
                          const struct group_snapshot_parts *parts, struct error *err);
/* The operation of which it is such a part: 1 found, 0 it is none. */
int group_snapshot_moment_of(struct work *work, const struct operation *part, struct operation *ret,
                             struct error *err);
/* Has one of those failed?  Then none will be made: 1, 0. */
int group_snapshot_has_failed(struct work *work, const struct operation *part, struct error *err);
/* After that: no other part waits for a report any longer. */
int group_snapshot_end_deadlines(struct work *work, const struct operation *operation,
                                 struct error *err);
/* The end of the whole ends its parts. */
int group_snapshot_cancel_parts(struct work *work, const struct operation *operation,
                                struct error *err);
