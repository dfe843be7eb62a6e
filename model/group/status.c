#include "model/group/status.h"

enum { STABLE, TRANSIENT };

static const struct status statuses[GROUP_STATUSES] = {
#define STATUS(name, text, kind, reset) [GROUP_##name] = { text, text, kind, reset },
#include "model/group/status.def"
#undef STATUS
};

const struct object_kind group_objects = { "volume_groups", statuses, GROUP_STATUSES };

const char *group_status_text(enum group_status status) {
    return statuses[status].text;
}

bool group_status_is_transient(enum group_status status) {
    return statuses[status].transient;
}
