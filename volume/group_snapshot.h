/*
 * Snapshots of a whole group: one snapshot of each of its volumes names it.
 */
#pragma once

#include "volume/group_snapshot_status.h"

struct group_snapshot {
    const char *id, *project_id, *user_id;
    const char *group_id, *group_type_id;
    const char *name, *description;
    enum group_snapshot_status status;
    bool status_by_reset;
    int64_t created_at, updated_at;
};
