/*
 * The statuses of a snapshot: a table (status.def); the door that writes them is
 * operation/status.h.
 */
#pragma once

#include "operation/status.h"

enum snapshot_status {
#define STATUS(name, text, shown, kind, reset) SNAPSHOT_##name,
#include "model/snapshot/status.def"
#undef STATUS
    SNAPSHOT_STATUSES
};

extern const struct object_kind snapshot_objects;

const char *snapshot_status_text(enum snapshot_status status);
/* The form that clients see. */
const char *snapshot_status_shown(enum snapshot_status status);
bool snapshot_status_may_be_reset_to(enum snapshot_status status);
bool snapshot_status_is_transient(enum snapshot_status status);
