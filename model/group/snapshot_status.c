#include "model/group/snapshot_status.h"

enum { STABLE, TRANSIENT };

static const struct status statuses[GROUP_SNAPSHOT_STATUSES] = {
#define STATUS(name, text, kind) [GROUP_SNAPSHOT_##name] = { text, text, kind, true },
#include "model/group/snapshot_status.def"
#undef STATUS
};

const struct object_kind group_snapshot_objects = { "group_snapshots", statuses,
                                                    GROUP_SNAPSHOT_STATUSES };

const char *group_snapshot_status_text(enum group_snapshot_status status) {
    return statuses[status].text;
}

bool group_snapshot_status_is_transient(enum group_snapshot_status status) {
    return statuses[status].transient;
}
