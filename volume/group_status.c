#include "volume/group_status.h"

enum { STABLE, TRANSIENT };

static const struct status statuses[GROUP_STATUSES] = {
#define STATUS(name, text, kind, reset) [GROUP_##name] = { text, text, kind, reset },
#include "volume/group_status.def"
#undef STATUS
};

const struct object_kind group_objects = { "volume_groups", statuses, GROUP_STATUSES };
