/*
 * The statuses of a group of volumes: a table (status.def); they are written by
 * operation/status.h.
 */
#pragma once

#include "operation/status.h"

enum group_status {
#define STATUS(name, text, kind, reset) GROUP_##name,
#include "model/group/status.def"
#undef STATUS
    GROUP_STATUSES
};

extern const struct object_kind group_objects;

const char *group_status_text(enum group_status status);
bool group_status_is_transient(enum group_status status);
