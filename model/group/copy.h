/*
 * A group that is created from a group snapshot or from another group: rows, and a volume of each
 * member, created like any volume.  The group is available when the last of them is, or an error
 * (end.h).
 */
#pragma once

#include "model/group/group.h"
#include "model/group/snapshot.h"

struct group_copy {
    const char *name, *description;
    const struct group_snapshot *group_snapshot; /* either this */
    const struct volume_group *group;            /* or this */
};

int group_copy(struct work *work, const struct group_copy *request, struct volume_group *ret,
               struct error *err);
