#include "model/volume/delete.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "model/conflict.h"
#include "model/group/end.h"
#include "model/notification.h"
#include "model/operations.h"
#include "model/scheduler/pool.h"
#include "model/snapshot/snapshot.h"
#include "model/volume/quota.h"
#include "operation/message.h"
#include "operation/service.h"

#include <string.h>

bool volume_delete_still_valid(const struct volume *volume) {
    return volume_is_free(volume, VOLUME_DELETING);
}

bool volume_delete_has_no_object(const struct volume *volume) {
    return volume->status == VOLUME_ERROR_MANAGING && !volume->provider_location;
}

static int check_free(const struct volume *volume, struct error *err) {
    if (volume->attachment_count || strcmp(volume->attach_status, "attached") == 0)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid volume: Volume %s must not be attached to be deleted.",
                         volume->id);
    if (volume_is_migrating(volume))
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid volume: Volume %s must not be migrating to be deleted.",
                         volume->id);
    return 0;
}

static int check_status(const struct volume *volume, uint64_t allowed, struct error *err) {
    if (allowed & ((uint64_t)1 << volume->status))
        return 0;
    return error_set(err, ERROR_BAD_REQUEST,
                     "Invalid volume: Volume %s status must be available or error or "
                     "error_restoring or error_extending or error_managing to be deleted, but "
                     "it is %s.",
                     volume->id, status_shown(volume->status));
}

/* clang-format off */
#define PARTS(of) \
    of(volume_metadata) of(volume_admin_metadata) of(volume_glance_metadata) of(attachments) \
    of(reclaims) of(operations) of(transfers) /* notifications and connections are obsolete */
#define IS_IN(table)       " OR EXISTS (SELECT 1 FROM " #table " WHERE volume_id = $1)"
#define REMOVE_FROM(table) "DELETE FROM " #table " WHERE volume_id = $1",
/* clang-format on */

int volume_delete_row(struct work *work, const struct volume *volume, struct error *err) {
    static const char *const texts[] = { PARTS(REMOVE_FROM) };
    /* Most volumes have none: one query is cheaper than all these changes of nothing. */
    int any = db_query_any(work->tx, err, "SELECT 1 WHERE 1 = 0" PARTS(IS_IN), DB_TEXT(volume->id));

    for (unsigned i = 0; any > 0 && i < LENGTH(texts); i++)
        if (db_run(work->tx, err, texts[i], DB_TEXT(volume->id)) < 0)
            return -1;
    if (any < 0 ||
        db_run(work->tx, err, "DELETE FROM volumes WHERE id = $1", DB_TEXT(volume->id)) < 0)
        return -1;
    if ((volume->host && pool_allocate(work, volume->host, -volume->size_gb, err) < 0) ||
        volume_quota_give_back(work, volume, err) < 0)
        return -1;
    return volume->group_id ? group_finish_delete(work, volume->group_id, err) : 0;
}

/* ---- with its snapshots ---- */

static int check_snapshots(struct work *work, const struct snapshot *snapshots, int count,
                           bool force, struct error *err) {
    for (int i = 0; i < count; i++) {
        const struct snapshot *snapshot = &snapshots[i];
        bool ready =
            force || snapshot->status == SNAPSHOT_AVAILABLE || snapshot->status == SNAPSHOT_ERROR;

        if (snapshot_is_hidden(work, snapshot))
            return error_set(err, ERROR_BAD_REQUEST,
                             "Invalid volume: Volume %s cannot be deleted with its snapshots: it "
                             "has one of another project.",
                             snapshot->volume_id);
        if (snapshot->group_snapshot_id || !ready)
            return error_set(err, ERROR_BAD_REQUEST,
                             "Invalid volume: Volume %s cannot be deleted with its snapshots: "
                             "snapshot %s %s.",
                             snapshot->volume_id, snapshot->id,
                             snapshot->group_snapshot_id
                                 ? "is part of a group snapshot"
                                 : "is neither available nor in an error state");
    }
    /* The delete would wait for a copy, with a volume that is no longer usable.  Its id is not
     * named: after a transfer it may be another project's. */
    for (int i = 0; i < count; i++) {
        struct operation *open;
        int readers = operation_on(work, snapshots[i].id, &open, err);

        for (int k = 0; k < readers; k++)
            if (strcmp(open[k].volume_id, snapshots[i].volume_id) != 0)
                return error_set(err, ERROR_BAD_REQUEST,
                                 "Invalid volume: Volume %s cannot be deleted with its snapshots: "
                                 "a volume is being made of snapshot %s.",
                                 snapshots[i].volume_id, snapshots[i].id);
        if (readers < 0)
            return -1;
    }
    return 0;
}

/* It has ended without success: the rest of them, and of the group that was to be deleted with
 * it. */
static int leave_behind(struct work *work, const struct volume *volume, struct error *err) {
    static const struct status_change failed = { .from = SNAPSHOT_DELETING,
                                                 .to = SNAPSHOT_ERROR_DELETING,
                                                 .unless_reset = true };
    struct snapshot *snapshots;
    int count = snapshot_of(work, volume->id, &snapshots, err);

    for (int i = 0; i < count; i++)
        if (status_write(work, &snapshot_objects, snapshots[i].id, &failed, err) < 0)
            return -1;
    if (count >= 0 && volume->group_id)
        return group_keep(work, volume->group_id, err);
    return count < 0 ? -1 : 0;
}

static int start(struct work *work, const struct volume *volume, const struct snapshot *snapshots,
                 int count, enum volume_action action, struct error *err) {
    static const struct status_change meanwhile = { .from = STATUS_ANY, .to = VOLUME_DELETING };
    static const struct status_change included = { .from = STATUS_ANY, .to = SNAPSHOT_DELETING };
    const struct operation fields = { .volume_id = volume->id,
                                      .turn_of = volume->id,
                                      .host = volume->host,
                                      .project_id = volume->project_id,
                                      .previous_status = status_text(volume->status),
                                      .at_once = true };
    struct operation *open;
    int others;

    assert(count == 0 || snapshots);
    if (!volume->host)
        return volume_delete_row(work, volume, err);
    if (error_if_any(service_is_frozen(work, volume->host, err), err, ERROR_BAD_REQUEST,
                     "Invalid volume: Volume %s is on a frozen backend and cannot be deleted.",
                     volume->id) < 0 ||
        conflict_resolve(work, volume->id, action, err) < 0)
        return -1;
    if (volume_delete_has_no_object(volume)) {
        others = operation_on(work, volume->id, &open, err);
        if (others <= 0) /* no work that may still create one */
            return others < 0 ? -1 : volume_delete_row(work, volume, err);
    }
    if (status_write(work, &volume_objects, volume->id, &meanwhile, err) < 0)
        return -1;
    for (int i = 0; i < count; i++)
        if (status_write(work, &snapshot_objects, snapshots[i].id, &included, err) < 0 ||
            notification_of_snapshot(work, "snapshot.delete.start", snapshots[i].id, err) < 0)
            return -1;
    if (operation_insert(work, &kind_delete, &fields, NULL, err) < 0)
        return -1;
    return notification_of(work, "volume.delete.start", volume->id, err);
}

int volume_delete(struct work *work, const struct volume *volume, unsigned how, struct error *err) {
    uint64_t allowed = kind_delete.may_start_from | (how & DELETE_RETRIED ? ST(ERROR_DELETING) : 0);
    bool cascade = how & DELETE_CASCADE, force = how & DELETE_FORCE;
    struct snapshot *snapshots = NULL;
    int count = 0;

    if (check_free(volume, err) < 0)
        return -1;
    if (volume->group_id)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid volume: Volume %s must not belong to a group to be deleted.",
                         volume->id);
    if ((!force && check_status(volume, allowed, err) < 0) ||
        (!cascade && snapshot_none_of(work, volume->id, err) < 0))
        return -1;
    if (cascade)
        count = snapshot_of(work, volume->id, &snapshots, err);
    if (count < 0 || check_snapshots(work, snapshots, count, force, err) < 0)
        return -1;
    return start(work, volume, snapshots, count, force ? ACTION_FORCE_DELETE : ACTION_DELETE, err);
}

int volume_delete_member(struct work *work, const struct volume *volume, struct error *err) {
    struct operation open;
    int found = volume->status == VOLUME_DELETING ? operation_of(work, volume->id, &open, err) : 0;

    if (found < 0)
        return -1;
    if (found > 0 && open.kind == &kind_delete)
        return 0; /* that of an earlier request continues */
    if (check_free(volume, err) < 0 ||
        check_status(volume, kind_delete.may_start_from | ST(ERROR_DELETING), err) < 0 ||
        snapshot_none_of(work, volume->id, err) < 0)
        return -1;
    return start(work, volume, NULL, 0, ACTION_DELETE, err);
}

int volume_delete_rename(struct work *work, const struct operation *operation, const char *owner,
                         const char *from, const char *to, struct error *err) {
    const char *reverts_to = json_string_value(
        json_object_get(operation_arguments(work->arena, operation), "snapshot_id"));
    const char *names =
        arena_format(work->arena, "{%s%s%s\"from\": \"%s\", \"to\": \"%s\"}",
                     reverts_to ? "\"snapshot_id\": \"" : "", reverts_to ? reverts_to : "",
                     reverts_to ? "\", " : "", from, to);
    int noted = operation_note(work, operation->id, owner, names, err);

    assert(*from && *to && strcmp(from, to) != 0);
    if (noted <= 0)
        return noted;
    if (db_run(work->tx, err, "UPDATE volumes SET name_id = $1, updated_at = $2 WHERE id = $3",
               DB_TEXT(to), DB_INT(work->now_us), DB_TEXT(operation->volume_id)) < 0)
        return -1;
    return 1;
}

bool volume_delete_renamed(struct arena *arena, const struct operation *operation,
                           const char **ret_from, const char **ret_to) {
    const json_t *names = operation_arguments(arena, operation);

    *ret_from = json_string_value(json_object_get(names, "from"));
    *ret_to = json_string_value(json_object_get(names, "to"));
    return *ret_from && *ret_to;
}

/* The next operation, a delete, decides the status; when it is cancelled, its volume has no
 * storage either. */
int volume_object_gone(struct work *work, const struct operation *operation, struct error *err) {
    static const struct status_change broken = { .from = STATUS_ANY, .to = VOLUME_ERROR };
    struct operation next;
    int result;

    assert(operation->kind->leaves_traces && operation->kind->object == &volume_objects);
    assert(operation->kind->message_detail);
    if (db_run(work->tx, err, "UPDATE volumes SET provider_location = NULL WHERE id = $1",
               DB_TEXT(operation->volume_id)) < 0)
        return -1;
    result = operation_of(work, operation->volume_id, &next, err);
    if (result != 0)
        return result < 0 ? -1 : 0;
    result = status_write(work, &volume_objects, operation->volume_id, &broken, err);
    if (result <= 0)
        return result;
    return message_put_failed(work, operation, operation->kind->message_detail, NULL, err);
}

/* ---- for other operations ---- */

static int delete_still_valid(struct work *work, const struct operation *operation,
                              struct error *err) {
    assert(operation->kind == &kind_delete);
    return volume_row_is_free(work, operation->volume_id, VOLUME_DELETING, err);
}

static int delete_finish(struct work *work, const struct operation *held, void *arg,
                         struct error *err) {
    const struct delete_ending *ending = arg;
    struct volume volume;
    int lost = operation_end_held(work, held, err);

    assert(held->kind == &kind_delete);
    if (lost != 0)
        return lost;
    if (volume_row(work, held->volume_id, &volume, err) < 0)
        return err->kind == ERROR_NOT_FOUND ? 0 : -1;
    if (!ending->failure) {
        if (notification_of(work, "volume.delete.end", volume.id, err) < 0)
            return -1;
        return volume_delete_row(work, &volume, err);
    }
    if (operation_leave(work, volume.id, held->kind, held->kind->on_failure, err) < 0 ||
        leave_behind(work, &volume, err) < 0)
        return -1;
    return message_put_failed(work, held, held->kind->message_detail, ending->failure, err);
}

static int delete_cancel(struct work *work, const struct operation *operation, struct error *err) {
    struct volume volume;

    if (volume_row(work, operation->volume_id, &volume, err) < 0)
        return -1;
    return leave_behind(work, &volume, err);
}

const struct operation_kind kind_delete = {
    .name = "delete",
    .method = "delete_volume",
    .message_action = "901",
    .message_detail = "901",
    .object = &volume_objects,
    .may_start_from =
        ST(AVAILABLE) | ST(ERROR) | ST(ERROR_RESTORING) | ST(ERROR_EXTENDING) | ST(ERROR_MANAGING),
    .meanwhile = VOLUME_DELETING,
    .on_failure = VOLUME_ERROR_DELETING,
    .is = { [PHASE_QUEUED] = WORK_DESTROYS, [PHASE_RUNNING] = WORK_DESTROYS },
    .leaves_traces = true,
    .ends_as_claimed = true,
    .still_valid = delete_still_valid,
    .finish = delete_finish,
    .cancel = delete_cancel,
};
