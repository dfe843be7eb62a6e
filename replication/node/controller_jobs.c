/*
 * Copying and comparing of a volume controller, as a state table (controller_states.h): one at a
 * time.
 */
#include "replication/node/volume_controller.private.h"

#include "common/clock.h"
#include "replication/node/rebuild_slots.h"

#include <string.h>

#define RETRY_FIRST_S 5
#define RETRY_MOST_S  320

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

static bool job_failed(const struct volume_controller *controller) {
    return controller->status.job != TARGET_REBUILT && controller->status.job != TARGET_REPAIRED;
}

static void finish_rebuild(struct volume_controller *controller) {
    const char *replica = controller->status.job_replica;

    volume_controller_end_rebuild(controller, replica ? replica : "",
                                  job_failed(controller) ? &controller->status.job_error : NULL);
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

void volume_controller_fail_snapshot(struct volume_controller *controller,
                                     const struct error *why) {
    static const struct backoff_limits pauses = { .first_us = RETRY_FIRST_S * SECOND_US,
                                                  .most_us = RETRY_MOST_S * SECOND_US };

    backoff_fail(&controller->snapshot_backoff, &pauses, clock_monotonic_us());
    controller->snapshot_trouble = *why;
}

static void finish_snapshot(struct volume_controller *controller) {
    if (controller->status.job == TARGET_SNAPSHOT_FAILED &&
        volume_controller_assigned_snapshot(controller, controller->snapshot)) {
        volume_controller_fail_snapshot(controller, &controller->status.job_error);
    } else {
        backoff_reset(&controller->snapshot_backoff);
        controller->snapshot_trouble = (struct error){ 0 };
    }
}

void volume_controller_end_jobs(struct volume_controller *controller) {
    if (volume_controller_has_job(controller))
        return;
    if (controller->work == REPLICA_WORK_REBUILD)
        finish_rebuild(controller);
    if (controller->work != REPLICA_WORK_SNAPSHOT && controller->work != REPLICA_WORK_CANCEL)
        return;
    finish_snapshot(controller);
    volume_controller_take_work(controller, REPLICA_WORK_ENDS);
}

void volume_controller_end_scrub(struct volume_controller *controller) {
    if (controller->work == REPLICA_WORK_COMPARE)
        volume_controller_take_work(controller, REPLICA_WORK_ENDS);
}
