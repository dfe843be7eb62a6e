/*
 * Copying and comparing of a volume controller, as a state table (controller_states.h): one at a
 * time.
 */
#include "replication/node/rebuild_slots.h"
#include "replication/node/volume_controller.private.h"

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

void volume_controller_end_jobs(struct volume_controller *controller) {
    if (volume_controller_has_job(controller))
        return;
    if (controller->work == REPLICA_WORK_REBUILD)
        volume_controller_end_rebuild(controller);
    if (controller->work != REPLICA_WORK_SNAPSHOT && controller->work != REPLICA_WORK_CANCEL)
        return;
    volume_controller_end_snapshot(controller);
    volume_controller_take_work(controller, REPLICA_WORK_ENDS);
}
