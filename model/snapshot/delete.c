#include "model/snapshot/delete.h"

#include "common/assert.h"
#include "model/conflict.h"
#include "model/notification.h"
#include "model/operations.h"
#include "model/scheduler/pool.h"
#include "model/volume/quota.h"
#include "operation/message.h"
#include "operation/service.h"

static int check(struct work *work, const struct snapshot *snapshot, unsigned how,
                 struct error *err) {
    bool may_begin = (how & DELETE_FORCE) || snapshot->status == SNAPSHOT_AVAILABLE ||
                     snapshot->status == SNAPSHOT_ERROR ||
                     ((how & DELETE_RETRIED) && snapshot->status == SNAPSHOT_ERROR_DELETING);

    if (snapshot->group_snapshot_id)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid snapshot: Snapshot %s is part of group snapshot %s and goes with "
                         "it alone.",
                         snapshot->id, snapshot->group_snapshot_id);
    if (!may_begin)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid snapshot: Snapshot %s status must be available or error to be "
                         "deleted, but it is %s.",
                         snapshot->id, snapshot_status_shown(snapshot->status));
    return error_if_any(
        service_is_frozen(work, snapshot->host, err), err, ERROR_BAD_REQUEST,
        "Invalid snapshot: Snapshot %s is on a frozen backend and cannot be deleted.",
        snapshot->id);
}

int snapshot_delete(struct work *work, const struct snapshot *snapshot, unsigned how,
                    struct error *err) {
    bool force = how & DELETE_FORCE;
    static const struct status_change meanwhile = { .from = STATUS_ANY, .to = SNAPSHOT_DELETING };
    const struct operation fields = {
        .target_id = snapshot->id,
        .volume_id = snapshot->volume_id,
        .turn_of = snapshot->id,
        .host = snapshot->host,
        .project_id = snapshot->project_id,
        .previous_status = snapshot_status_text(snapshot->status),
    };

    if (check(work, snapshot, how, err) < 0 ||
        conflict_resolve(work, snapshot->volume_id, ACTION_DROP_SNAPSHOT, err) < 0 ||
        conflict_resolve_snapshot(work, snapshot, force ? ACTION_FORCE_DELETE : ACTION_DELETE,
                                  err) < 0 ||
        status_write(work, &snapshot_objects, snapshot->id, &meanwhile, err) < 0 ||
        operation_insert(work, &kind_snapshot_delete, &fields, NULL, err) < 0)
        return -1;
    return notification_of_snapshot(work, "snapshot.delete.start", snapshot->id, err);
}

int snapshot_delete_begin(struct work *work, const struct operation *held, void *arg,
                          struct error *err) {
    static const struct status_change meanwhile = { .from = SNAPSHOT_AVAILABLE,
                                                    .to = SNAPSHOT_DELETING };

    (void)held;
    /* A status set by an operator does not stop the delete of its volume. */
    if (status_write(work, &snapshot_objects, arg, &meanwhile, err) < 0)
        return -1;
    return db_change(work->tx, err, "UPDATE snapshots SET delete_begun = 1 WHERE id = $1",
                     DB_TEXT((const char *)arg));
}

int snapshot_delete_not_begun(struct work *work, const struct operation *held, void *arg,
                              struct error *err) {
    (void)held;
    return db_change(work->tx, err, "UPDATE snapshots SET delete_begun = 0 WHERE id = $1",
                     DB_TEXT((const char *)arg));
}

/* ---- finish ---- */

int snapshot_delete_done(struct work *work, const struct snapshot *snapshot, struct error *err) {
    assert(snapshot->id);
    if (notification_of_snapshot(work, "snapshot.delete.end", snapshot->id, err) < 0 ||
        db_run(work->tx, err, "DELETE FROM snapshot_metadata WHERE snapshot_id = $1",
               DB_TEXT(snapshot->id)) < 0 ||
        pool_release_snapshot(work, snapshot->id, err) < 0 ||
        db_run(work->tx, err, "DELETE FROM snapshots WHERE id = $1", DB_TEXT(snapshot->id)) < 0)
        return -1;
    return snapshot_quota_give_back(work, snapshot, err);
}

static int delete_finish(struct work *work, const struct operation *held, void *arg,
                         struct error *err) {
    const struct snapshot_delete_ending *ending = arg;
    struct snapshot snapshot;

    assert(held->kind == &kind_snapshot_delete);
    if (operation_end(work, held, err) < 0)
        return -1;
    if (snapshot_row(work, held->object_id, &snapshot, err) < 0)
        return err->kind == ERROR_NOT_FOUND ? 0 : -1;
    if (ending->failure) {
        bool kept = ending->busy && !snapshot.group_snapshot_id; /* not a member alone */

        if ((ending->busy &&
             snapshot_delete_not_begun(work, held, (char *)(uintptr_t)snapshot.id, err) < 0) ||
            operation_leave(work, snapshot.id, held->kind,
                            kept ? SNAPSHOT_AVAILABLE : held->kind->on_failure, err) < 0 ||
            message_put_failed_of(work, held, "VOLUME_SNAPSHOT", ending->busy ? "015" : "016",
                                  ending->failure, err) < 0)
            return -1;
    }
    /* The rows of a group snapshot are deleted together. */
    if (snapshot.group_snapshot_id)
        return operation_part_ended(work, snapshot.group_snapshot_id, ending->failure, err);
    return ending->failure ? 0 : snapshot_delete_done(work, &snapshot, err);
}

const struct operation_kind kind_snapshot_delete = {
    .name = "snapshot_delete",
    .method = "delete_snapshot",
    .message_action = "010",
    .object = &snapshot_objects,
    .may_start_from = (uint64_t)1 << SNAPSHOT_AVAILABLE | (uint64_t)1 << SNAPSHOT_ERROR,
    .meanwhile = SNAPSHOT_DELETING,
    .on_failure = SNAPSHOT_ERROR_DELETING,
    .is = { [PHASE_QUEUED] = WORK_DESTROYS,
            [PHASE_RUNNING] = WORK_DESTROYS,
            [PHASE_PREPARING] = WORK_DESTROYS,
            [PHASE_SENDING] = WORK_DESTROYS,
            [PHASE_WAITING] = WORK_DESTROYS,
            [PHASE_COMPLETING] = WORK_DESTROYS },
    .finish = delete_finish,
};
