#include "model/snapshot/status.h"

enum { STABLE, TRANSIENT };

static const struct status statuses[SNAPSHOT_STATUSES] = {
#define STATUS(name, text, shown, kind, reset) [SNAPSHOT_##name] = { text, shown, kind, reset },
#include "model/snapshot/status.def"
#undef STATUS
};

const struct object_kind snapshot_objects = { "snapshots", statuses, SNAPSHOT_STATUSES };

const char *snapshot_status_text(enum snapshot_status status) {
    return statuses[status].text;
}

const char *snapshot_status_shown(enum snapshot_status status) {
    return statuses[status].shown;
}

bool snapshot_status_may_be_reset_to(enum snapshot_status status) {
    return statuses[status].by_reset;
}

bool snapshot_status_is_transient(enum snapshot_status status) {
    return statuses[status].transient;
}
