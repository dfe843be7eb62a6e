#include "model/volume/status.h"

enum { STABLE, TRANSIENT };

static const struct status statuses[VOLUME_STATUSES] = {
#define STATUS(name, text, shown, kind, reset) [VOLUME_##name] = { text, shown, kind, reset },
#include "model/volume/status.def"
#undef STATUS
};

const struct object_kind volume_objects = { "volumes", statuses, VOLUME_STATUSES };

const char *status_text(enum volume_status status) {
    return statuses[status].text;
}

const char *status_shown(enum volume_status status) {
    return statuses[status].shown;
}

bool status_is_transient(enum volume_status status) {
    return statuses[status].transient;
}

bool status_may_be_reset_to(enum volume_status status) {
    return statuses[status].by_reset;
}

int status_parse(const char *text, enum volume_status *ret) {
    unsigned status;

    if (status_find(&volume_objects, text, &status) < 0)
        return -1;
    *ret = (enum volume_status)status;
    return 0;
}
