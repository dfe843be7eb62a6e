#include "model/operations.h"

#include "common/assert.h"

#include <stddef.h>

const struct operation_kind *const operation_kinds[] = {
#define OPERATION(name) &kind_##name,
#include "model/operations.def"
#undef OPERATION
    NULL,
};

static int refuse_status(const struct volume *volume, const char *what, struct error *err) {
    return error_set(err, ERROR_BAD_REQUEST,
                     "Invalid volume: Volume %s status must not be %s to %s.", volume->id,
                     status_shown(volume->status), what);
}

int volume_begin(struct work *work, struct volume *volume, const struct operation_kind *kind,
                 const struct operation *fields, const char **ret_operation_id, struct error *err) {
    struct operation operation = fields ? *fields : (struct operation){ 0 };
    const struct status_change change = { .from = (int)volume->status, .to = kind->meanwhile };
    int changed;

    assert(kind->object == &volume_objects && kind->meanwhile < VOLUME_STATUSES);
    assert(status_is_transient((enum volume_status)kind->meanwhile));
    assert(!fields || (!fields->target_id && !fields->turns));
    if (kind->may_start_from && !(kind->may_start_from & ((uint64_t)1 << volume->status)))
        return refuse_status(volume, kind->name, err);
    if (!volume->host)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid volume: Volume %s is on no backend and cannot %s.", volume->id,
                         kind->name);
    /* Its create failed or was cancelled, or a delete was cancelled too late. */
    if (!volume->provider_location)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid volume: Volume %s has nothing on its backend and cannot %s.",
                         volume->id, kind->name);
    changed = status_write(work, kind->object, volume->id, &change, err);
    if (changed < 0)
        return -1;
    if (changed == 0)
        return refuse_status(volume, kind->name, err);
    operation.volume_id = operation.turn_of = volume->id;
    operation.host = volume->host;
    operation.project_id = volume->project_id;
    operation.previous_status = status_text(volume->status);
    if (operation_insert(work, kind, &operation, ret_operation_id, err) < 0)
        return -1;
    volume->status = (enum volume_status)kind->meanwhile;
    return 0;
}
