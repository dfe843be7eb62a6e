#include "model/snapshot/create.h"

#include "common/assert.h"
#include "model/attachment/connect.h"
#include "model/conflict.h"
#include "model/group/snapshot_part.h"
#include "model/notification.h"
#include "model/operations.h"
#include "model/scheduler/placement.h"
#include "model/scheduler/pool.h"
#include "model/volume/create.h"
#include "model/volume/image_cache_entry.h"
#include "model/volume/quota.h"
#include "operation/message.h"
#include "operation/service.h"

static int snapshot_create_refuse(const struct volume *volume, const char *why, struct error *err) {
    return error_set(err, ERROR_BAD_REQUEST,
                     "Invalid volume: A snapshot of volume %s cannot be made: %s.", volume->id,
                     why);
}

static int check_volume(struct work *work, const struct volume *volume, bool in_use_allowed,
                        struct error *err) {
    int frozen;

    if (!volume->host)
        return snapshot_create_refuse(volume, "it is on no backend", err);
    if (volume_is_migrating(volume))
        return snapshot_create_refuse(volume, "it is migrating", err);
    if (volume->status != VOLUME_AVAILABLE && !(in_use_allowed && volume->status == VOLUME_IN_USE))
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid volume: Volume %s status must be available%s for a snapshot, but "
                         "current status is: %s.",
                         volume->id, in_use_allowed ? " or in-use" : "",
                         status_shown(volume->status));
    /* Its create failed or was cancelled, or a delete was cancelled too late. */
    if (!volume->provider_location)
        return snapshot_create_refuse(volume, "it has nothing on its backend", err);
    if (pool_demand(work, volume->host, DRIVER_SNAPSHOT,
                    "Invalid volume: The backend of this volume makes no snapshots.", err) < 0)
        return -1;
    frozen = service_is_frozen(work, volume->host, err);
    if (frozen > 0)
        return snapshot_create_refuse(volume, "its backend is frozen", err);
    return frozen;
}

static int insert_row(struct work *work, const struct snapshot *snapshot, int64_t promised_gb,
                      struct error *err) {
    assert(snapshot->volume_id && promised_gb >= 0);
    return db_change(
        work->tx, err,
        "INSERT INTO snapshots (id, volume_id, project_id, user_id, display_name, "
        "display_description, size_gb, status, status_by_reset, progress, use_quota, counted_gb, "
        "delete_begun, created_at, asked_us, group_snapshot_id, taken_over, availability_zone, "
        "promised_gb) "
        "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, $9, 1, $10, 0, $11, $12, $13, $14, $15, $16)",
        DB_TEXT(snapshot->id), DB_TEXT(snapshot->volume_id), DB_TEXT(snapshot->project_id),
        DB_TEXT(snapshot->user_id), DB_TEXT(snapshot->name), DB_TEXT(snapshot->description),
        DB_INT(snapshot->size_gb), DB_TEXT(snapshot_status_text(snapshot->status)),
        DB_TEXT(snapshot->progress), DB_INT(snapshot->counted_gb), DB_INT(snapshot->created_at),
        DB_INT(work->clock_us), DB_TEXT(snapshot->group_snapshot_id), DB_BOOL(snapshot->taken_over),
        DB_TEXT(snapshot->availability_zone), DB_INT(promised_gb));
}

int snapshot_add(struct work *work, const struct volume *volume, const struct snapshot_new *request,
                 struct snapshot *ret, struct error *err) {
    const struct snapshot snapshot = {
        .id = work_uuid(work),
        .volume_id = volume->id,
        .project_id = work->context->project_id ? work->context->project_id : volume->project_id,
        .user_id = work->context->user_id,
        .name = request->name,
        .description = request->description,
        .size_gb = volume->size_gb,
        .status = request->no_space     ? SNAPSHOT_ERROR
                  : request->taken_over ? SNAPSHOT_MANAGING
                                        : SNAPSHOT_CREATING,
        .progress = "0%",
        .use_quota = true,
        .counted_gb = work->settings->no_snapshot_gb_quota ? 0 : volume->size_gb,
        .group_snapshot_id = request->group_snapshot_id,
        .taken_over = request->taken_over,
        .created_at = work->now_us,
        .host = volume->host,
        .availability_zone = volume->availability_zone,
        .type_name = volume->type_name,
        .metadata = request->metadata,
    };

    if (check_volume(work, volume, request->in_use_allowed, err) < 0 ||
        pair_rows_check(work, &snapshot_metadata_rows, "to be made", &request->metadata, err) < 0 ||
        conflict_resolve(work, volume->id, ACTION_SNAPSHOT, err) < 0 ||
        snapshot_quota_take(work, &snapshot, err) < 0 ||
        insert_row(work, &snapshot, request->no_space ? 0 : snapshot.size_gb, err) < 0 ||
        pool_promise_snapshot(work, snapshot.id, err) < 0 ||
        pair_rows_put(work, &snapshot_metadata_rows, PAIR_OWNER(&snapshot), &snapshot.metadata,
                      true, err) < 0)
        return -1;
    assert(snapshot.counted_gb <= snapshot.size_gb);
    *ret = snapshot;
    return notification_of_snapshot(work,
                                    snapshot.taken_over ? "snapshot.manage_existing_snapshot.start"
                                                        : "snapshot.create.start",
                                    snapshot.id, err);
}

int snapshot_create(struct work *work, const struct volume *volume,
                    const struct snapshot_new *request, struct snapshot *ret, struct error *err) {
    struct operation fields = {
        .volume_id = volume->id,
        .turn_of = volume->id,
        .host = volume->host,
    };
    struct snapshot_new checked = *request;
    int fits = image_cache_yield(work, volume->host, NULL, volume->size_gb, err);

    checked.no_space = fits == 0;
    if (fits < 0 || snapshot_add(work, volume, &checked, ret, err) < 0)
        return -1;
    if (fits == 0) {
        const struct message message = { .project_id = ret->project_id,
                                         .request_id = work->context->request_id,
                                         .resource_type = "VOLUME_SNAPSHOT",
                                         .resource_uuid = ret->id,
                                         .action_id = kind_snapshot_create.message_action,
                                         .detail_id = "003",
                                         .reason = PLACEMENT_NO_SPACE };

        return message_insert(work, &message, err);
    }
    fields.target_id = ret->id;
    fields.project_id = ret->project_id;
    return operation_insert(work, &kind_snapshot_create, &fields, NULL, err);
}

/* ---- progress ---- */

static int create_progress(struct work *work, const struct operation *held, void *arg,
                           struct error *err) {
    const int *percent = arg;

    assert(*percent >= 0 && *percent <= 100);
    return db_change(work->tx, err,
                     "UPDATE snapshots SET progress = $1, updated_at = $2 WHERE id = $3",
                     DB_TEXT(arena_format(work->arena, "%d%%", *percent)), DB_INT(work->now_us),
                     DB_TEXT(held->object_id));
}

/* ---- finish ---- */

int snapshot_create_note(struct work *work, const char *id, const struct create_ending *ending,
                         struct error *err) {
    assert(id && !ending->failure);
    return db_run(work->tx, err,
                  "UPDATE snapshots SET provider_location = $1, format = $2, progress = '100%' "
                  "WHERE id = $3",
                  DB_TEXT(ending->location), DB_TEXT(ending->format), DB_TEXT(id)) < 0
               ? -1
               : 0;
}

int snapshot_create_ended(struct work *work, const char *id, const struct create_ending *ending,
                          struct error *err) {
    /* Whatever status an operator has set meanwhile: it has no object. */
    static const struct status_change broken = { .from = STATUS_ANY, .to = SNAPSHOT_ERROR };

    if (ending->failure)
        return status_write(work, &snapshot_objects, id, &broken, err) < 0 ? -1 : 0;
    if (snapshot_create_note(work, id, ending, err) < 0 ||
        operation_leave(work, id, &kind_snapshot_create, SNAPSHOT_AVAILABLE, err) < 0)
        return -1;
    return notification_of_snapshot(work, "snapshot.create.end", id, err);
}

/* All of a group snapshot are unusable when one is. */
static int part_ended(struct work *work, const struct operation *held,
                      const struct snapshot *snapshot, const struct create_ending *ending,
                      struct error *err) {
    static const struct error no_failure_of_its_own;
    struct operation whole;
    struct volume volume;
    int apart = 0;

    assert(snapshot->group_snapshot_id);
    /* The storage took it, since its guest has left or because it can: the host that was to take it
     * with others waits for it in vain. */
    if (!ending->failure && held->phase == PHASE_RUNNING)
        apart = group_snapshot_moment_of(work, held, &whole, err);
    if (apart < 0 ||
        (!ending->failure && snapshot_create_note(work, snapshot->id, ending, err) < 0) ||
        (apart > 0 && volume_attached(work, held->volume_id, &volume, err) < 0))
        return -1;
    if (apart > 0 && message_put_failed_of(work, held, "VOLUME_SNAPSHOT",
                                           volume_in_use(&volume) ? "911" : "912", NULL, err) < 0)
        return -1;
    return operation_part_ended(work, snapshot->group_snapshot_id,
                                ending->failure ? ending->failure
                                : apart > 0     ? &no_failure_of_its_own
                                                : NULL,
                                err);
}

static int create_finish(struct work *work, const struct operation *held, void *arg,
                         struct error *err) {
    const struct create_ending *ending = arg;
    const char *id = held->object_id;
    struct snapshot snapshot;
    struct volume volume;

    assert(held->kind == &kind_snapshot_create && held->object_id);
    if (ending->connection_info &&
        (volume_details(work, held->volume_id, &volume, err) < 0 ||
         attachment_refresh(work, &volume, ending->connection_info, err) < 0))
        return -1;
    if (operation_end(work, held, err) < 0 ||
        (ending->failure &&
         message_put_failed_of(work, held, "VOLUME_SNAPSHOT", ending->in_use ? "910" : "013",
                               ending->failure, err) < 0))
        return -1;
    if (snapshot_row(work, id, &snapshot, err) < 0)
        return err->kind == ERROR_NOT_FOUND ? 0 : -1;
    if (!snapshot.group_snapshot_id)
        return snapshot_create_ended(work, id, ending, err);
    return part_ended(work, held, &snapshot, ending, err);
}

const struct operation_kind kind_snapshot_create = {
    .name = "snapshot_create",
    .method = "create_snapshot",
    .message_action = "009",
    .object = &snapshot_objects,
    .meanwhile = SNAPSHOT_CREATING,
    .on_failure = SNAPSHOT_ERROR,
    .progress = create_progress,
    .finish = create_finish,
    .is = { [PHASE_QUEUED] = WORK_MAKES,
            [PHASE_RUNNING] = WORK_MAKES,
            [PHASE_PREPARING] = WORK_MAKES,
            [PHASE_SENDING] = WORK_MAKES,
            [PHASE_WAITING] = WORK_MAKES,
            [PHASE_COMPLETING] = WORK_MAKES },
};
