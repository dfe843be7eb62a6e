/*
 * os-reset_status of a group snapshot.  Its snapshots keep theirs.
 */
#include "model/conflict.h"
#include "model/group/snapshot.h"
#include "model/notification.h"
#include "model/snapshot/snapshot.h"

int group_snapshot_reset_status(struct work *work, const struct group_snapshot *group_snapshot,
                                const char *status, struct error *err) {
    struct status_change change = { .from = STATUS_ANY };
    const char *id = group_snapshot->id;
    struct snapshot *snapshots;
    int count = 0;

    if (status_find(&group_snapshot_objects, status, &change.to) < 0)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid GroupSnapshotStatus: a group snapshot cannot be set to '%.64s'.",
                         status);
    change.by_reset = group_snapshot_status_is_transient((enum group_snapshot_status)change.to);
    /* Once its delete has begun at the backend it cannot be a snapshot of the group again. */
    if (change.to == GROUP_SNAPSHOT_AVAILABLE || change.to == GROUP_SNAPSHOT_CREATING ||
        change.to == GROUP_SNAPSHOT_UPDATING)
        count = snapshot_of_group(work, id, &snapshots, err);
    for (int i = 0; i < count; i++)
        if (snapshots[i].delete_begun)
            return error_set(
                err, ERROR_BAD_REQUEST,
                "Invalid GroupSnapshot: A delete of group snapshot %s has begun on its "
                "backend; it can be reset to error, and be deleted.",
                id);
    if (count < 0 ||
        notification_of_group_snapshot(work, "group_snapshot.reset_status.start", id, err) < 0 ||
        conflict_settle_group_snapshot(work, group_snapshot, ACTION_RESET_STATUS, err) < 0 ||
        status_write(work, &group_snapshot_objects, id, &change, err) < 0)
        return -1;
    return notification_of_group_snapshot(work, "group_snapshot.reset_status.end", id, err);
}
