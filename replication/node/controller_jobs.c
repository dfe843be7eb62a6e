/*
 * Copying and comparing of a volume controller, as a state table (controller_states.h): one at a
 * time.
 */
#include "replication/node/volume_controller.private.h"

#include "common/clock.h"
#include "replication/node/rebuild_slots.h"

#include <string.h>

bool volume_controller_has_job(const struct volume_controller *controller) {
    enum target_job job = controller->status.job;

    return job == TARGET_REBUILD || job == TARGET_REPAIR || job == TARGET_SNAPSHOT ||
           job == TARGET_REVERT;
}

void volume_controller_take_work(struct volume_controller *controller,
                                 enum replica_work_event event) {
    const struct state_row *row = state_table_next(&replica_work_states, &controller->work, event);

    if (row && row->action == REPLICA_WORK_FREE_REBUILD)
        rebuild_slots_release(controller->settings->rebuilds);
    if (row && row->action == REPLICA_WORK_FREE_COMPARE)
        rebuild_slots_release(controller->settings->scrubs);
}

void volume_controller_end_rebuild(struct volume_controller *controller, const char *replica,
                                   const struct error *failed) {
    if (controller->work == REPLICA_WORK_REBUILD)
        volume_controller_take_work(controller, REPLICA_WORK_ENDS);
    if (failed)
        rebuild_failures_add(&controller->rebuild_failures, replica, failed, clock_monotonic_us());
    else
        rebuild_failures_forget(&controller->rebuild_failures, replica);
}

const struct assignment_snapshot *
volume_controller_assigned_snapshot(const struct volume_controller *controller, const char *uid) {
    const struct assignment_volume *volume = &controller->assignment->volume;

    for (unsigned i = 0; i < volume->snapshot_count; i++) {
        if (strcmp(volume->snapshots[i].uid, uid) == 0)
            return &volume->snapshots[i];
    }
    return NULL;
}

void volume_controller_end_jobs(struct volume_controller *controller) {
    const struct target_status *status = &controller->status;

    if (volume_controller_has_job(controller))
        return;
    if (controller->work == REPLICA_WORK_REBUILD) {
        bool failed = status->job != TARGET_REBUILT && status->job != TARGET_REPAIRED;

        volume_controller_end_rebuild(controller, status->job_replica ? status->job_replica : "",
                                      failed ? &status->job_error : NULL);
    }
    if (controller->work != REPLICA_WORK_SNAPSHOT && controller->work != REPLICA_WORK_CANCEL)
        return;
    if (status->job == TARGET_SNAPSHOT_FAILED &&
        volume_controller_assigned_snapshot(controller, controller->snapshot)) {
        rebuild_failures_add(&controller->rebuild_failures, REBUILD_FAILURE_SNAPSHOT,
                             &status->job_error, clock_monotonic_us());
    } else {
        rebuild_failures_forget(&controller->rebuild_failures, REBUILD_FAILURE_SNAPSHOT);
    }
    volume_controller_take_work(controller, REPLICA_WORK_ENDS);
}

void volume_controller_end_scrub(struct volume_controller *controller) {
    if (controller->work == REPLICA_WORK_COMPARE)
        volume_controller_take_work(controller, REPLICA_WORK_ENDS);
}
