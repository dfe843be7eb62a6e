/*
 * The statuses of a group snapshot: a table (snapshot_status.def); they are written by
 * operation/status.h.
 */
#pragma once

#include "operation/status.h"

enum group_snapshot_status {
#define STATUS(name, text, kind) GROUP_SNAPSHOT_##name,
#include "model/group/snapshot_status.def"
#undef STATUS
    GROUP_SNAPSHOT_STATUSES
};

extern const struct object_kind group_snapshot_objects;

const char *group_snapshot_status_text(enum group_snapshot_status status);
bool group_snapshot_status_is_transient(enum group_snapshot_status status);
