/*
 * Unmanaging a volume: like a delete, but its storage stays.
 */
#include "common/assert.h"
#include "model/conflict.h"
#include "model/notification.h"
#include "model/operations.h"
#include "model/scheduler/pool.h"
#include "model/snapshot/snapshot.h"
#include "model/volume/delete.h"
#include "model/volume/manage.h"
#include "operation/message.h"

#include <string.h>

static int unmanage_refuse(const struct volume *volume, const char *why, struct error *err) {
    return error_set(err, ERROR_BAD_REQUEST, "Invalid volume: Volume %s cannot be unmanaged: %s.",
                     volume->id, why);
}

/* A frozen backend unmanages all the same: that destroys nothing. */
int volume_unmanage(struct work *work, const struct volume *volume, struct error *err) {
    struct volume changed = *volume;

    if (volume->attachment_count || strcmp(volume->attach_status, "attached") == 0)
        return unmanage_refuse(volume, "it is attached", err);
    if (volume_is_migrating(volume))
        return unmanage_refuse(volume, "it is migrating", err);
    if (volume->group_id)
        return unmanage_refuse(volume, "it belongs to a group", err);
    if (volume->encryption_key_id)
        return unmanage_refuse(volume, "it is encrypted", err);
    if (snapshot_none_of(work, volume->id, err) < 0 ||
        conflict_resolve(work, volume->id, ACTION_UNMANAGE, err) < 0)
        return -1;
    if (volume_delete_has_no_object(volume))
        return volume_delete_row(work, volume, err);
    if (volume->host &&
        pool_demand(work, volume->host, DRIVER_MANAGE,
                    "Invalid volume: The backend of this volume cannot unmanage volumes.", err) < 0)
        return -1;
    if (volume_begin(work, &changed, &kind_unmanage, NULL, NULL, err) < 0)
        return -1;
    return notification_put(work, "volume.unmanage.start", &changed, err);
}

bool volume_unmanage_still_valid(const struct volume *volume) {
    return volume_is_free(volume, VOLUME_UNMANAGING);
}

static int unmanage_still_valid(struct work *work, const struct operation *operation,
                                struct error *err) {
    assert(operation->kind == &kind_unmanage);
    return volume_row_is_free(work, operation->volume_id, VOLUME_UNMANAGING, err);
}

static int unmanage_finish(struct work *work, const struct operation *held, void *arg,
                           struct error *err) {
    const struct unmanage_ending *ending = arg;
    struct volume volume;

    assert(held->kind == &kind_unmanage);
    if (operation_end(work, held, err) < 0)
        return -1;
    if (volume_row(work, held->volume_id, &volume, err) < 0)
        return err->kind == ERROR_NOT_FOUND ? 0 : -1;
    if (!ending->failure)
        return notification_of(work, "volume.unmanage.end", volume.id, err) < 0
                   ? -1
                   : volume_delete_row(work, &volume, err);
    if (operation_leave(work, volume.id, held->kind, held->kind->on_failure, err) < 0)
        return -1;
    return message_put_failed(work, held, held->kind->message_detail, ending->failure, err);
}

const struct operation_kind kind_unmanage = {
    .name = "unmanage",
    .method = "unmanage_volume",
    .message_action = "006",
    .message_detail = "906",
    .object = &volume_objects,
    .may_start_from = ST(AVAILABLE) | ST(ERROR) | ST(ERROR_RESTORING) | ST(ERROR_EXTENDING) |
                      ST(ERROR_MANAGING) | ST(ERROR_UNMANAGING),
    .meanwhile = VOLUME_UNMANAGING,
    .on_failure = VOLUME_ERROR_UNMANAGING,
    .is = { [PHASE_QUEUED] = WORK_DESTROYS, [PHASE_RUNNING] = WORK_DESTROYS },
    .leaves_traces = true,
    .still_valid = unmanage_still_valid,
    .finish = unmanage_finish,
};
