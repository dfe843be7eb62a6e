/*
 * Overlays that are to go on top of several disks of one guest at one moment: the looks at the
 * others and the question whether they are still awaited, for whoever does it for all.
 */
#pragma once

#include "client/volumes.h"
#include "common/clock.h"
#include "compute/overlay.h"

#define TOGETHER_MOST 256

/* The snapshots that are taken at one moment. */
struct together {
    char (*ids)[UUID_SIZE]; /* of the heap */
    unsigned count;         /* 0: one is taken alone */
};

void together_set(struct together *ret, const char *const *ids, unsigned count);
bool together_is(const struct together *together, const char *const *ids, unsigned count);
/* Does it do it for all?  The one with the smallest id does. */
bool together_leads(const struct together *together, const char *snapshot_id);

/* One of the others, as it was asked for. */
struct together_one {
    char volume_id[UUID_SIZE], snapshot_id[UUID_SIZE], instance_uuid[UUID_SIZE];
    const char *request_id;
    struct overlay_change change;
    struct overlay overlay; /* as last seen */
};

/* READY: all of them are, in the guest that has `own`.  FAILED: that will never be; APART: not now;
 * err says which and why. */
enum overlay_outcome together_look(struct together_one *others, unsigned count,
                                   const struct overlay *own, struct arena *arena,
                                   struct error *err);
/* Does the volume API take a report of each?  APART: not of all, now. */
enum overlay_outcome together_tell(const struct together_one *others, unsigned count,
                                   const struct client *api, struct arena *arena,
                                   struct error *err);
