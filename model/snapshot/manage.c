#include "model/snapshot/manage.h"

#include "common/assert.h"
#include "model/conflict.h"
#include "model/manage_reference.h"
#include "model/notification.h"
#include "model/operations.h"
#include "model/scheduler/pool.h"
#include "model/snapshot/delete.h"
#include "model/volume/manageable.h"
#include "model/volume/quota.h"
#include "operation/message.h"
#include "json/field.h"
#include "json/json.h"

#include <string.h>

/* ---- begin ---- */

/* Other refusals come when the row is inserted. */
int snapshot_manage_ask(struct work *work, const struct volume *volume, const char *source_name,
                        const char **ret_operation_id, struct error *err) {
    struct manageable_one one = { .source_name = source_name, .volume_id = volume->id };
    struct pool pool;

    if (manage_reference(work, MANAGE_SNAPSHOT, &one.source_name, err) < 0 ||
        volume_manage_pool(work, volume->host, DRIVER_MANAGE_SNAPSHOT, &pool, err) < 0)
        return -1;
    return manageable_probe(work, &pool, &one, ret_operation_id, err);
}

int snapshot_manage(struct work *work, const struct volume *volume,
                    const struct snapshot_new *request, const char *source_name,
                    struct snapshot *ret, struct error *err) {
    struct snapshot_new wanted = *request;
    struct operation fields = {
        .volume_id = volume->id,
        .turn_of = volume->id,
        .host = volume->host,
    };
    struct pool pool;

    wanted.in_use_allowed = wanted.taken_over = true;
    if (manage_reference(work, MANAGE_SNAPSHOT, &source_name, err) < 0 ||
        (volume->host &&
         volume_manage_pool(work, volume->host, DRIVER_MANAGE_SNAPSHOT, &pool, err) < 0) ||
        snapshot_add(work, volume, &wanted, ret, err) < 0)
        return -1;
    fields.arguments =
        json_text(work->arena, json_keep(work->arena, json_pack("{s:s}", "source", source_name)));
    fields.target_id = ret->id;
    fields.project_id = ret->project_id;
    return operation_insert(work, &kind_snapshot_manage, &fields, NULL, err);
}

bool snapshot_manage_has_no_object(const struct snapshot *snapshot) {
    return snapshot->taken_over && !snapshot->provider_location;
}

/* ---- its size ---- */

int snapshot_manage_sized(struct work *work, const struct operation *held, void *arg,
                          struct error *err) {
    const struct manage_size *size = arg;
    const char *known_as = size->known_as;
    struct snapshot snapshot, other;

    assert(held->kind == &kind_snapshot_manage);
    /* An unrecorded object stays unrecorded: ids are never reused. */
    if (known_as && strcmp(known_as, held->object_id) != 0) {
        if (snapshot_row(work, known_as, &other, err) == 0)
            return error_set(err, ERROR_BAD_REQUEST, "The object is snapshot %s already.",
                             known_as);
        if (err->kind != ERROR_NOT_FOUND)
            return -1;
    }
    if (snapshot_row(work, held->object_id, &snapshot, err) < 0)
        return -1;
    if (size->gb == snapshot.size_gb)
        return 0;
    if (size->gb > FIELD_MAX_SIZE_GB)
        return error_set(err, ERROR_BAD_REQUEST, "The object is larger than a volume can be.");
    if (snapshot_quota_give_back(work, &snapshot, err) < 0)
        return -1;
    snapshot.counted_gb = snapshot.counted_gb > 0 ? size->gb : 0;
    if (snapshot_quota_take(work, &snapshot, err) < 0)
        return -1;
    return db_change(work->tx, err,
                     "UPDATE snapshots SET size_gb = $1, counted_gb = $2, updated_at = $3 "
                     "WHERE id = $4",
                     DB_INT(size->gb), DB_INT(snapshot.counted_gb), DB_INT(work->now_us),
                     DB_TEXT(snapshot.id));
}

/* ---- finish ---- */

static int manage_finish(struct work *work, const struct operation *held, void *arg,
                         struct error *err) {
    /* Whatever status an operator has set meanwhile: it has no object. */
    static const struct status_change broken = { .from = STATUS_ANY, .to = SNAPSHOT_ERROR };
    const struct manage_ending *ending = arg;

    assert(held->kind == &kind_snapshot_manage);
    if (operation_end(work, held, err) < 0)
        return -1;
    if (!ending->failure) {
        if (db_run(work->tx, err,
                   "UPDATE snapshots SET provider_location = $1, format = $2, progress = '100%' "
                   "WHERE id = $3",
                   DB_TEXT(ending->location), DB_TEXT(ending->format),
                   DB_TEXT(held->object_id)) < 0 ||
            operation_leave(work, held->object_id, held->kind, SNAPSHOT_AVAILABLE, err) < 0)
            return -1;
        return notification_of_snapshot(work, "snapshot.manage_existing_snapshot.end",
                                        held->object_id, err);
    }
    if (status_write(work, &snapshot_objects, held->object_id, &broken, err) < 0)
        return -1;
    return message_put_failed_of(work, held, "VOLUME_SNAPSHOT",
                                 ending->failure->kind == ERROR_OVER_QUOTA ? "006" : "013",
                                 ending->failure, err);
}

const struct operation_kind kind_snapshot_manage = {
    .name = "snapshot_manage",
    .method = "manage_existing_snapshot",
    .message_action = "008",
    .object = &snapshot_objects,
    .meanwhile = SNAPSHOT_MANAGING,
    .on_failure = SNAPSHOT_ERROR,
    .is = { [PHASE_QUEUED] = WORK_MAKES, [PHASE_RUNNING] = WORK_MAKES },
    .leaves_traces = true,
    .finish = manage_finish,
};

/* ---- unmanage ---- */

/* A frozen backend unmanages all the same: that destroys nothing. */
int snapshot_unmanage(struct work *work, const struct snapshot *snapshot, struct error *err) {
    const struct status_change meanwhile = { .from = (int)snapshot->status,
                                             .to = kind_snapshot_unmanage.meanwhile };
    const struct operation fields = {
        .target_id = snapshot->id,
        .volume_id = snapshot->volume_id,
        .turn_of = snapshot->id,
        .host = snapshot->host,
        .project_id = snapshot->project_id,
        .previous_status = snapshot_status_text(snapshot->status),
    };

    if (snapshot->group_snapshot_id)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid snapshot: Snapshot %s is part of group snapshot %s and cannot be "
                         "unmanaged.",
                         snapshot->id, snapshot->group_snapshot_id);
    if (!(kind_snapshot_unmanage.may_start_from & (uint64_t)1 << snapshot->status))
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid snapshot: Snapshot %s status must be available or error to be "
                         "unmanaged, but it is %s.",
                         snapshot->id, snapshot_status_shown(snapshot->status));
    if (pool_demand(work, snapshot->host, DRIVER_MANAGE_SNAPSHOT,
                    "Invalid snapshot: The backend of this snapshot cannot unmanage snapshots.",
                    err) < 0 ||
        conflict_resolve(work, snapshot->volume_id, ACTION_DROP_SNAPSHOT, err) < 0 ||
        conflict_resolve_snapshot(work, snapshot, ACTION_UNMANAGE, err) < 0 ||
        status_write(work, &snapshot_objects, snapshot->id, &meanwhile, err) < 0 ||
        operation_insert(work, &kind_snapshot_unmanage, &fields, NULL, err) < 0)
        return -1;
    return notification_of_snapshot(work, "snapshot.delete.start", snapshot->id, err);
}

static int unmanage_finish(struct work *work, const struct operation *held, void *arg,
                           struct error *err) {
    const struct snapshot_delete_ending *ending = arg;
    unsigned status = held->kind->on_failure;
    struct snapshot snapshot;

    if (operation_end(work, held, err) < 0)
        return -1;
    if (snapshot_row(work, held->object_id, &snapshot, err) < 0)
        return err->kind == ERROR_NOT_FOUND ? 0 : -1;
    if (!ending->failure)
        return snapshot_delete_done(work, &snapshot, err);
    if (ending->busy &&
        (snapshot_delete_not_begun(work, held, (char *)(uintptr_t)snapshot.id, err) < 0 ||
         status_find(&snapshot_objects, held->previous_status, &status) < 0))
        return -1;
    if (operation_leave(work, snapshot.id, held->kind, status, err) < 0)
        return -1;
    return message_put_failed_of(work, held, "VOLUME_SNAPSHOT", "907", ending->failure, err);
}

const struct operation_kind kind_snapshot_unmanage = {
    .name = "snapshot_unmanage",
    .method = "unmanage_snapshot",
    .message_action = "006",
    .object = &snapshot_objects,
    .may_start_from = (uint64_t)1 << SNAPSHOT_AVAILABLE | (uint64_t)1 << SNAPSHOT_ERROR,
    .meanwhile = SNAPSHOT_UNMANAGING,
    .on_failure = SNAPSHOT_ERROR_DELETING,
    .is = { [PHASE_QUEUED] = WORK_DESTROYS, [PHASE_RUNNING] = WORK_DESTROYS },
    .finish = unmanage_finish,
};
