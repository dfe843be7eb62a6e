#include "model/volume/revert.h"

#include "model/conflict.h"
#include "model/notification.h"
#include "model/operations.h"
#include "model/scheduler/pool.h"
#include "model/snapshot/snapshot.h"
#include "operation/message.h"

#include <string.h>

/* ---- begin ---- */

static int revert_refuse(const struct volume *volume, const char *why, struct error *err) {
    return error_set(err, ERROR_BAD_REQUEST, "Volume %s cannot be reverted: %s.", volume->id, why);
}

static int find_newest(struct work *work, const struct volume *volume, const char *snapshot_id,
                       struct snapshot *ret, struct error *err) {
    struct snapshot *snapshots;
    int count = snapshot_of(work, volume->id, &snapshots, err);

    if (count <= 0)
        return count < 0 ? -1 : revert_refuse(volume, "it has no snapshots", err);
    *ret = snapshots[0];
    if (snapshot_is_hidden(work, ret))
        return revert_refuse(volume, "its newest snapshot is not one of this project", err);
    if (!snapshot_id || strcmp(snapshot_id, ret->id) != 0)
        return revert_refuse(volume, "the snapshot that is named is not its newest one", err);
    if (ret->size_gb != volume->size_gb)
        return revert_refuse(volume, "its size differs from the snapshot's", err);
    if (ret->status != SNAPSHOT_AVAILABLE || !ret->provider_location || ret->delete_begun)
        return error_set(err, ERROR_CONFLICT,
                         "Snapshot %s must be available to revert to it, but it is %s.", ret->id,
                         snapshot_status_shown(ret->status));
    if (volume->status != VOLUME_AVAILABLE || volume->attachment_count > 0)
        return error_set(err, ERROR_CONFLICT,
                         "Volume %s must be available and without attachments to be reverted, but "
                         "it is %s and has %u.",
                         volume->id, status_shown(volume->status), volume->attachment_count);
    return 0;
}

int volume_revert(struct work *work, const struct volume *volume, const char *snapshot_id,
                  struct error *err) {
    static const struct status_change meanwhile = { .from = SNAPSHOT_AVAILABLE,
                                                    .to = SNAPSHOT_RESTORING };
    struct volume changed = *volume;
    struct snapshot snapshot = { 0 };
    struct operation fields;

    if (volume_check_content(volume, "be reverted", err) < 0 ||
        find_newest(work, volume, snapshot_id, &snapshot, err) < 0)
        return -1;
    fields = (struct operation){
        .arguments = arena_format(work->arena, "{\"snapshot_id\": \"%s\"}", snapshot.id),
    };
    if (pool_demand(work, volume->host, DRIVER_REVERT,
                    "Invalid volume: The backend of this volume reverts none to a snapshot; a "
                    "volume can be made of it.",
                    err) < 0 ||
        conflict_resolve(work, volume->id, ACTION_REVERT, err) < 0 ||
        volume_begin(work, &changed, &kind_revert, &fields, NULL, err) < 0 ||
        status_write(work, &snapshot_objects, snapshot.id, &meanwhile, err) < 0 ||
        notification_put(work, "volume.revert.start", &changed, err) < 0)
        return -1;
    return notification_of_snapshot(work, "snapshot.revert.start", snapshot.id, err);
}

/* ---- finish ---- */

const char *volume_revert_snapshot(struct arena *arena, const struct operation *operation) {
    const char *id =
        json_string_value(json_object_get(operation_arguments(arena, operation), "snapshot_id"));

    return id ? id : "";
}

/* Whatever the outcome: the snapshot has not changed. */
static int free_snapshot(struct work *work, const struct operation *operation, struct error *err) {
    static const struct status_change available = { .from = SNAPSHOT_RESTORING,
                                                    .to = SNAPSHOT_AVAILABLE,
                                                    .unless_reset = true };
    const char *id = volume_revert_snapshot(work->arena, operation);

    return status_write(work, &snapshot_objects, id, &available, err) < 0 ? -1 : 0;
}

static int revert_finish(struct work *work, const struct operation *held, void *arg,
                         struct error *err) {
    const struct revert_ending *ending = arg;
    bool whole = !ending->failure || ending->untouched;

    if (operation_end(work, held, err) < 0 || free_snapshot(work, held, err) < 0 ||
        operation_leave(work, held->volume_id, held->kind,
                        whole ? VOLUME_AVAILABLE : held->kind->on_failure, err) < 0)
        return -1;
    if (ending->failure)
        return message_put_failed(work, held, held->kind->message_detail, ending->failure, err);
    if (notification_of(work, "volume.revert.end", held->volume_id, err) < 0)
        return -1;
    return notification_of_snapshot(work, "snapshot.revert.end",
                                    volume_revert_snapshot(work->arena, held), err);
}

/* ---- for other operations ---- */

bool volume_revert_still_valid(const struct volume *volume) {
    return volume->status == VOLUME_REVERTING && volume->attachment_count == 0;
}

static int revert_still_valid(struct work *work, const struct operation *operation,
                              struct error *err) {
    struct volume volume;

    if (volume_details(work, operation->volume_id, &volume, err) < 0)
        return -1;
    return volume_revert_still_valid(&volume);
}

const struct operation_kind kind_revert = {
    .name = "revert",
    .method = "revert_to_snapshot",
    .message_action = "902",
    .message_detail = "902",
    .object = &volume_objects,
    .may_start_from = ST(AVAILABLE),
    .meanwhile = VOLUME_REVERTING,
    .on_failure = VOLUME_ERROR,
    .is = { [PHASE_QUEUED] = WORK_REVERTS, [PHASE_RUNNING] = WORK_REVERTS },
    .leaves_traces = true,
    .still_valid = revert_still_valid,
    .finish = revert_finish,
    .cancel = free_snapshot,
};
