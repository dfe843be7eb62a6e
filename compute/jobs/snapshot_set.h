/*
 * Atomic snapshot sets: overlays that are added to several disks of one guest at one moment.
 * Checks of the other members and the query whether they are still awaited, for the member that
 * leads the set.
 */
#pragma once

#include "client/volumes.h"
#include "common/clock.h"
#include "compute/jobs/overlay.h"

#define SNAPSHOT_SET_MOST 256

/* The snapshots of a set. */
struct snapshot_set {
    char (*ids)[UUID_SIZE]; /* on the heap */
    unsigned count;         /* 0: a single snapshot */
};

void snapshot_set_copy(struct snapshot_set *ret, const char *const *ids, unsigned count);
bool snapshot_set_equals(const struct snapshot_set *set, const char *const *ids, unsigned count);
/* Does this member change all disks?  The one with the smallest id does. */
bool snapshot_set_is_leader(const struct snapshot_set *set, const char *snapshot_id);

/* Another member, as requested. */
struct snapshot_member {
    char volume_id[UUID_SIZE], snapshot_id[UUID_SIZE], instance_uuid[UUID_SIZE];
    const char *request_id;
    struct overlay_change change;
    struct overlay overlay; /* last known state */
};

/* READY: all members are ready, in the guest of `own`.  FAILED: never possible; APART: not yet; err
 * has the member and the reason. */
enum overlay_outcome snapshot_set_check(struct snapshot_member *others, unsigned count,
                                        const struct overlay *own, struct arena *arena,
                                        struct error *err);
/* Does the volume API accept a report of each?  APART: not of all at present. */
enum overlay_outcome snapshot_set_report(const struct snapshot_member *others, unsigned count,
                                         const struct client *api, struct arena *arena,
                                         struct error *err);
