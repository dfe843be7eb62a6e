#include "model/snapshot/reset.h"

#include "model/assist.h"
#include "model/conflict.h"
#include "model/notification.h"
#include "model/operations.h"

#include <string.h>

static bool gives_it_away(unsigned wanted) {
    return wanted != SNAPSHOT_ERROR && wanted != SNAPSHOT_ERROR_DELETING &&
           wanted != SNAPSHOT_DELETING && wanted != SNAPSHOT_DELETED;
}

/* A delete of all members is not stopped for one of them.  1: such a delete continues. */
static int check_group(struct work *work, const struct snapshot *snapshot, unsigned wanted,
                       struct error *err) {
    struct operation operation;
    int found = snapshot->group_snapshot_id
                    ? operation_of(work, snapshot->group_snapshot_id, &operation, err)
                    : 0;

    if (found <= 0 || operation.kind != &kind_group_snapshot_delete)
        return found < 0 ? -1 : 0;
    if (!gives_it_away(wanted))
        return 1;
    return error_set(err, ERROR_BAD_REQUEST,
                     "Invalid snapshot: Snapshot %s goes with group snapshot %s: reset that one.",
                     snapshot->id, snapshot->group_snapshot_id);
}

/* Its create has not ended or has failed. */
static int check_storage(const struct snapshot *snapshot, unsigned wanted, struct error *err) {
    if (wanted != SNAPSHOT_AVAILABLE || snapshot->provider_location)
        return 0;
    return error_set(err, ERROR_BAD_REQUEST,
                     "Invalid snapshot: Snapshot %s has no storage and cannot become available: "
                     "its create has not ended or has failed. It can be reset to error, and be "
                     "deleted.",
                     snapshot->id);
}

static int write_status(struct work *work, const struct snapshot *snapshot, unsigned status,
                        struct error *err) {
    const struct status_change change = {
        .from = STATUS_ANY,
        .to = status,
        .by_reset = snapshot_status_is_transient((enum snapshot_status)status),
    };

    return status_write(work, &snapshot_objects, snapshot->id, &change, err) < 0 ? -1 : 0;
}

int snapshot_reset_status(struct work *work, const struct snapshot *snapshot, const char *status,
                          struct error *err) {
    unsigned wanted;
    int taken_along;

    if (status_find(&snapshot_objects, arena_lower(work->arena, status), &wanted) < 0 ||
        !snapshot_status_may_be_reset_to((enum snapshot_status)wanted))
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid input received: status: a snapshot cannot be set to '%.64s'.",
                         status);
    /* A snapshot that the backend has begun to destroy may be gone, or go at any moment: it cannot
     * be used. */
    if (snapshot->delete_begun && gives_it_away(wanted))
        return error_set(
            err, ERROR_BAD_REQUEST,
            "Invalid snapshot: A delete of snapshot %s has begun on its backend; it can be "
            "reset to error or error_deleting, and be deleted.",
            snapshot->id);
    if (check_storage(snapshot, wanted, err) < 0)
        return -1;
    taken_along = check_group(work, snapshot, wanted, err);
    if (taken_along < 0 ||
        notification_of_snapshot(work, "snapshot.reset_status.start", snapshot->id, err) < 0 ||
        (!taken_along && conflict_resolve_snapshot(work, snapshot, ACTION_RESET_STATUS, err) < 0) ||
        write_status(work, snapshot, wanted, err) < 0)
        return -1;
    return notification_of_snapshot(work, "snapshot.reset_status.end", snapshot->id, err);
}

/* ---- reports ---- */

static bool may_report(enum snapshot_status now, unsigned wanted) {
    if (now == SNAPSHOT_CREATING)
        return wanted == SNAPSHOT_CREATING || wanted == SNAPSHOT_AVAILABLE ||
               wanted == SNAPSHOT_ERROR;
    return now == SNAPSHOT_DELETING &&
           (wanted == SNAPSHOT_DELETING || wanted == SNAPSHOT_ERROR_DELETING);
}

/* The report of a finished host; the rest is done by scoria. */
#define HOST_IS_DONE "90%"

/* A status set by an operator does not stop the work of a host, nor the wait for its end. */
static enum snapshot_status status_to_reporter(const struct snapshot *snapshot,
                                               const struct operation *operation) {
    return operation && operation_awaits_report(operation)
               ? (enum snapshot_status)operation->kind->meanwhile
               : snapshot->status;
}

/* The worker of an operation reports its end itself, except for work of a guest's host.
 * `operation`: NULL when there is none on the snapshot. */
static int report_ours(struct work *work, const struct snapshot *snapshot,
                       const struct operation *operation, unsigned wanted, const char *progress,
                       struct error *err) {
    bool same = wanted == status_to_reporter(snapshot, operation);
    bool failed = wanted == SNAPSHOT_ERROR || wanted == SNAPSHOT_ERROR_DELETING;
    bool done = progress && strcmp(progress, HOST_IS_DONE) == 0;
    struct operation of_group;
    int found = operation != NULL;

    if (found && operation_awaits_report(operation) && (failed || (same && done)))
        return assist_report(work, operation, failed, err);
    if (found && same && !done) {
        if (operation_awaits_report(operation))
            return assist_progressed(work, operation, err) < 0 ? -1 : 1;
        /* A host checks before it begins whether its report is awaited. */
        return operation->phase == PHASE_PREPARING || operation->phase == PHASE_COMPLETING
                   ? error_set(err, ERROR_BAD_REQUEST,
                               "Invalid snapshot: No work of a host on snapshot %s is pending.",
                               operation->object_id)
                   : 1;
    }
    if (!found && snapshot->group_snapshot_id) {
        found = operation_of(work, snapshot->group_snapshot_id, &of_group, err);
        operation = &of_group;
    }
    if (found > 0 && !same)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid snapshot: The %s of snapshot %s runs in this service, which "
                         "reports its end itself.",
                         operation->kind->name, snapshot->id);
    return found;
}

int snapshot_report_status(struct work *work, const struct snapshot *snapshot, const char *status,
                           const char *progress, struct error *err) {
    struct operation operation;
    const struct operation *own = NULL;
    unsigned wanted;
    int ours = operation_of(work, snapshot->id, &operation, err);

    if (ours < 0)
        return -1;
    if (ours > 0)
        own = &operation;
    if (status_find(&snapshot_objects, status, &wanted) < 0 ||
        !may_report(status_to_reporter(snapshot, own), wanted))
        return error_set(
            err, ERROR_BAD_REQUEST,
            "Invalid input received: The status of snapshot %s, which is %s, cannot be "
            "updated to '%.64s'.",
            snapshot->id, snapshot_status_shown(snapshot->status), status);
    ours = report_ours(work, snapshot, own, wanted, progress, err);
    if (ours < 0 || (ours == 0 && (check_storage(snapshot, wanted, err) < 0 ||
                                   write_status(work, snapshot, wanted, err) < 0)))
        return -1;
    if (!progress)
        return 0;
    return db_change(work->tx, err,
                     "UPDATE snapshots SET progress = $1, updated_at = $2 WHERE id = $3",
                     DB_TEXT(progress), DB_INT(work->now_us), DB_TEXT(snapshot->id));
}
