#include "model/group/snapshot_delete.h"

#include "common/assert.h"
#include "model/conflict.h"
#include "model/group/snapshot_part.h"
#include "model/group/status.h"
#include "model/notification.h"
#include "model/snapshot/delete.h"
#include "operation/message.h"
#include "operation/service.h"

static int group_snapshot_delete_refuse(const struct group_snapshot *row, const char *why,
                                        struct error *err) {
    return error_set(err, ERROR_BAD_REQUEST,
                     "Invalid GroupSnapshot: Group snapshot %s cannot be deleted: %s.", row->id,
                     why);
}

static int start(struct work *work, const struct group_snapshot *row,
                 const struct snapshot *snapshots, int count, struct error *err) {
    static const struct status_change meanwhile = { .from = STATUS_ANY,
                                                    .to = GROUP_SNAPSHOT_DELETING };
    struct operation_turn *turns = arena_alloc(work->arena, 2 * (size_t)count * sizeof *turns);
    const struct operation fields = {
        .target_id = row->id,
        .volume_id = row->group_id,
        .turns = turns,
        .turn_count = 2 * (unsigned)count,
        .host = snapshots[0].host,
        .project_id = row->project_id,
        .previous_status = group_snapshot_status_text(row->status),
    };

    assert(count > 0);
    for (int i = 0; i < count; i++) {
        turns[2 * i] = (struct operation_turn){ snapshots[i].id, false };
        turns[2 * i + 1] = (struct operation_turn){ snapshots[i].volume_id, true };
    }
    if (status_write(work, &group_snapshot_objects, row->id, &meanwhile, err) < 0)
        return -1;
    return operation_insert(work, &kind_group_snapshot_delete, &fields, NULL, err);
}

/* ---- finish ---- */

static int remove_all(struct work *work, const char *id, const struct snapshot *snapshots,
                      int count, struct error *err) {
    assert(id);
    for (int i = 0; i < count; i++)
        if (snapshot_delete_done(work, &snapshots[i], err) < 0)
            return -1;
    if (notification_of_group_snapshot(work, "group_snapshot.delete.end", id, err) < 0)
        return -1;
    return db_run(work->tx, err, "DELETE FROM group_snapshots WHERE id = $1", DB_TEXT(id)) < 0 ? -1
                                                                                               : 0;
}

/* It has ended without success: the rest of them. */
static int leave_behind(struct work *work, const struct snapshot *snapshots, int count,
                        struct error *err) {
    static const struct status_change failed = { .from = SNAPSHOT_DELETING,
                                                 .to = SNAPSHOT_ERROR_DELETING,
                                                 .unless_reset = true };

    for (int i = 0; i < count; i++)
        if (status_write(work, &snapshot_objects, snapshots[i].id, &failed, err) < 0)
            return -1;
    return 0;
}

static int delete_finish(struct work *work, const struct operation *held, void *arg,
                         struct error *err) {
    const struct group_snapshot_delete_ending *ending = arg;
    const char *id = held->object_id;
    struct snapshot *snapshots;
    int count;

    assert(held->kind == &kind_group_snapshot_delete);
    if (operation_end(work, held, err) < 0)
        return -1;
    count = snapshot_of_group(work, id, &snapshots, err);
    if (count < 0 || !ending->failure)
        return count < 0 ? -1 : remove_all(work, id, snapshots, count, err);
    if (leave_behind(work, snapshots, count, err) < 0 ||
        operation_leave(work, id, held->kind, GROUP_SNAPSHOT_ERROR, err) < 0)
        return -1;
    return message_put_failed_of(work, held, "GROUP_SNAPSHOT", "904", ending->failure, err);
}

static int delete_cancel(struct work *work, const struct operation *operation, struct error *err) {
    struct snapshot *snapshots;
    int count = snapshot_of_group(work, operation->object_id, &snapshots, err);

    assert(operation->kind == &kind_group_snapshot_delete);
    return count < 0 || group_snapshot_cancel_parts(work, operation, err) < 0
               ? -1
               : leave_behind(work, snapshots, count, err);
}

/* ---- work of guests' hosts ---- */

int group_snapshot_delete_share(struct work *work, const struct operation *held, void *arg,
                                struct error *err) {
    const struct group_snapshot_delete_ending *left = arg;
    struct snapshot *snapshots;
    int count = snapshot_of_group(work, held->object_id, &snapshots, err);
    const struct group_snapshot_parts parts = { &kind_snapshot_delete, snapshots, left->is_part,
                                                count };

    assert(held->kind == &kind_group_snapshot_delete);
    if (count >= 0 && count != left->count)
        return error_set(err, ERROR_INTERNAL, "Group snapshot %s has %d snapshots, and not %d.",
                         held->object_id, count, left->count);
    return count < 0 ? -1 : group_snapshot_hand_over(work, held, &parts, err);
}

static int delete_reevaluate(struct work *work, const struct operation *operation,
                             struct error *err) {
    struct error failure = { 0 };
    struct group_snapshot_delete_ending ending = { operation->failed ? &failure : NULL, NULL, 0 };
    struct snapshot *snapshots;
    int count = group_snapshot_parts_ended(work, operation, &snapshots, err);

    assert(operation->kind == &kind_group_snapshot_delete);
    operation_read_failure(work->arena, operation, &failure);
    return count <= 0 ? count : delete_finish(work, operation, &ending, err);
}

const struct operation_kind kind_group_snapshot_delete = {
    .name = "group_snapshot_delete",
    .method = "delete_group_snapshot",
    .message_action = "905",
    .object = &group_snapshot_objects,
    .may_start_from = (uint64_t)1 << GROUP_SNAPSHOT_AVAILABLE | (uint64_t)1 << GROUP_SNAPSHOT_ERROR,
    .meanwhile = GROUP_SNAPSHOT_DELETING,
    .on_failure = GROUP_SNAPSHOT_ERROR,
    .is = { [PHASE_QUEUED] = WORK_DESTROYS,
            [PHASE_RUNNING] = WORK_DESTROYS,
            [PHASE_WAITING] = WORK_DESTROYS },
    .finish = delete_finish,
    .cancel = delete_cancel,
    .reevaluate = delete_reevaluate,
};

/* ---- begin ---- */

int group_snapshot_delete(struct work *work, const struct group_snapshot *group_snapshot,
                          struct error *err) {
    static const struct status_change meanwhile = { .from = STATUS_ANY, .to = SNAPSHOT_DELETING };
    const char *id = group_snapshot->id;
    struct snapshot *snapshots;
    int count = snapshot_of_group(work, id, &snapshots, err), frozen;
    int64_t groups = 0;

    if (count < 0)
        return -1;
    frozen = count > 0 ? service_is_frozen(work, snapshots[0].host, err) : 0;
    if (!(kind_group_snapshot_delete.may_start_from & (uint64_t)1 << group_snapshot->status))
        return group_snapshot_delete_refuse(group_snapshot, "its status must be available or error",
                                            err);
    if (frozen != 0)
        return frozen < 0
                   ? -1
                   : group_snapshot_delete_refuse(group_snapshot, "its backend is frozen", err);
    if (db_query_int(work->tx, &groups, err,
                     "SELECT COUNT(*) FROM volume_groups WHERE group_snapshot_id = $1 AND "
                     "$2 = status",
                     DB_TEXT(id), DB_TEXT(group_objects.statuses[GROUP_CREATING].text)) < 0)
        return -1;
    if (groups > 0)
        return group_snapshot_delete_refuse(group_snapshot, "a group is being made of it", err);
    if (conflict_settle_group_snapshot(work, group_snapshot, ACTION_DELETE, err) < 0 ||
        notification_of_group_snapshot(work, "group_snapshot.delete.start", id, err) < 0)
        return -1;
    if (count == 0)
        return remove_all(work, id, snapshots, count, err);
    /* The delete of the group snapshot includes them. */
    for (int i = 0; i < count; i++)
        if (conflict_resolve(work, snapshots[i].volume_id, ACTION_DROP_SNAPSHOT, err) < 0 ||
            status_write(work, &snapshot_objects, snapshots[i].id, &meanwhile, err) < 0 ||
            notification_of_snapshot(work, "snapshot.delete.start", snapshots[i].id, err) < 0)
            return -1;
    return start(work, group_snapshot, snapshots, count, err);
}
