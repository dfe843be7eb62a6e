#include "volume/snapshot_status.h"

enum { STABLE, TRANSIENT };

static const struct status statuses[SNAPSHOT_STATUSES] = {
#define STATUS(name, text, kind) [SNAPSHOT_##name] = { text, text, kind, true },
#include "volume/snapshot_status.def"
#undef STATUS
};

const struct object_kind snapshot_objects = { "snapshots", statuses, SNAPSHOT_STATUSES };

const char *snapshot_status_text(enum snapshot_status status) {
    return statuses[status].text;
}

bool snapshot_status_is_transient(enum snapshot_status status) {
    return statuses[status].transient;
}
