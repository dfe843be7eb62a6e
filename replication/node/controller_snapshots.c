/*
 * Snapshots of a served volume: those of its document, one after the other, each once.  One that a
 * replica holds is complete.  One that was removed from the document is cancelled before that
 * generation is reported as observed, as its files are deleted then.
 */
#include "replication/node/volume_controller.private.h"

#include "common/assert.h"
#include "common/clock.h"
#include "common/log.h"

#include <string.h>

/* Its size; 0: no replica of this node has it; -1: unknown, as a pool is unresponsive. */
static int64_t size_of(const struct volume_controller *controller, const char *uid) {
    int64_t none = 0;

    for (unsigned i = 0; i < controller->assignment->volume.count; i++) {
        const struct replica replica = volume_controller_replica(controller, i);
        struct replica_request request = { .kind = ACCESS_SNAPSHOT_SIZE,
                                           .replica = &replica,
                                           .name = uid };
        struct error ignored;

        if (replica.access)
            continue;
        if (replica_request(&controller->local, &request, &ignored) < 0)
            none = -1;
        else if (request.bytes > 0)
            return request.bytes;
    }
    return none;
}

int volume_controller_cancel_snapshot(struct volume_controller *controller, struct error *err) {
    bool cancels = controller->work == REPLICA_WORK_CANCEL;

    if (controller->status.job != TARGET_SNAPSHOT ||
        (!cancels && volume_controller_assigned_snapshot(controller, controller->snapshot)))
        return 0;
    if (cancels)
        return 1;
    if (target_rebuild_stop(controller->target, err) < 0)
        return -1;
    volume_controller_take_work(controller, REPLICA_WORK_WITHDRAWN);
    return 1;
}

void volume_controller_snapshot(struct volume_controller *controller) {
    const struct assignment_volume *volume = &controller->assignment->volume;
    const struct rebuild_failure *failure;
    unsigned next = 0;
    const char *uid;
    struct error err;
    int outcome;

    volume_controller_end_jobs(controller);
    failure = rebuild_failures_find(&controller->rebuild_failures, REBUILD_FAILURE_SNAPSHOT);
    if (volume_controller_has_job(controller) ||
        (failure && backoff_waits(&failure->backoff, clock_monotonic_us())))
        return;
    while (next < volume->snapshot_count && size_of(controller, volume->snapshots[next].uid) != 0)
        next++;
    if (next == volume->snapshot_count)
        return;
    uid = volume->snapshots[next].uid;
    assert(!volume_controller_has_job(controller) &&
           volume_controller_assigned_snapshot(controller, uid));
    outcome = target_snapshot(controller->target, uid, controller->settings->rebuild_speed, &err);
    if (outcome < 0) {
        log_warning(NULL, "snapshot not started, retrying", "volume_id", controller->uid,
                    "snapshot_id", uid, "reason", err.message, NULL);
        rebuild_failures_add(&controller->rebuild_failures, REBUILD_FAILURE_SNAPSHOT, &err,
                             clock_monotonic_us());
    }
    if (outcome > 0) {
        volume_controller_take_work(controller, REPLICA_WORK_SNAPSHOT_BEGINS);
        snprintf(controller->snapshot, sizeof(controller->snapshot), "%s", uid);
    }
    volume_controller_read_status(controller);
}

json_t *volume_controller_snapshots_json(const struct volume_controller *controller) {
    const struct assignment_volume *volume = &controller->assignment->volume;
    const struct rebuild_failure *failure =
        rebuild_failures_find(&controller->rebuild_failures, REBUILD_FAILURE_SNAPSHOT);
    json_t *list = json_array();

    for (unsigned i = 0; i < volume->snapshot_count; i++) {
        const char *uid = volume->snapshots[i].uid;
        int64_t bytes = size_of(controller, uid);

        json_array_append_new(
            list,
            json_pack("{s:s, s:s, s:o*, s:o*}", "uid", uid, "phase",
                      bytes > 0 ? "Ready" : "Pending", "sizeBytes",
                      bytes > 0 ? json_integer(bytes) : NULL, "message",
                      bytes <= 0 && failure ? assignment_message(failure->why.message) : NULL));
    }
    return list;
}
