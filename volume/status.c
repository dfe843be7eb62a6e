#include "volume/status.h"

#include "common/cleanup.h"

#include <stddef.h>
#include <string.h>

enum status_kind { STABLE, TRANSIENT };

static const struct {
    const char *text;
    const char *shown;
    enum status_kind kind;
    bool reset;
} statuses[VOLUME_STATUSES] = {
#define STATUS(name, text, shown, kind, reset) [VOLUME_##name] = { text, shown, kind, reset },
#include "volume/status.def"
#undef STATUS
};

/* clang-format off */
const struct operation_kind operation_kinds[OPERATION_KINDS] = {
    /* name       message            may start from                      meanwhile         on failure             if its worker died  user message */
    [OPERATION_CREATE] =
    { "create",  "create_volume",    0,                                  VOLUME_CREATING,  VOLUME_ERROR,           OPERATION_RESUME,  "008" },
    [OPERATION_DELETE] =
    { "delete",  "delete_volume",    ST(AVAILABLE) | ST(ERROR) | ST(ERROR_RESTORING) | ST(ERROR_EXTENDING) | ST(ERROR_MANAGING),
                                                                         VOLUME_DELETING,  VOLUME_ERROR_DELETING,  OPERATION_RESUME,  "901" },
    [OPERATION_EXTEND] =
    { "extend",  "extend_volume",    ST(AVAILABLE) | ST(IN_USE),         VOLUME_EXTENDING, VOLUME_ERROR_EXTENDING, OPERATION_WAIT,    "007" },

    /* These two move no status of the volume. */
    [OPERATION_CONNECT] =
    { "connect", "connect_volume",   0,                                  VOLUME_STATUSES,  VOLUME_STATUSES,        OPERATION_RESUME,  "004" },
    [OPERATION_NOTIFY] =
    { "notify",  "notify_extended",  0,                                  VOLUME_STATUSES,  VOLUME_STATUSES,        OPERATION_RESUME,  "007" },
};
/* clang-format on */

const char *status_text(enum volume_status status) {
    return statuses[status].text;
}

const char *status_shown(enum volume_status status) {
    return statuses[status].shown;
}

bool status_is_transient(enum volume_status status) {
    return statuses[status].kind == TRANSIENT;
}

bool status_may_be_reset_to(enum volume_status status) {
    return statuses[status].reset;
}

int status_parse(const char *text, enum volume_status *ret) {
    for (unsigned i = 0; i < LENGTH(statuses); i++)
        if (strcmp(statuses[i].text, text) == 0) {
            *ret = (enum volume_status)i;
            return 0;
        }
    return -1;
}

const struct operation_kind *operation_kind_find(const char *name) {
    for (unsigned i = 0; i < LENGTH(operation_kinds); i++)
        if (strcmp(operation_kinds[i].name, name) == 0)
            return &operation_kinds[i];
    return NULL;
}
