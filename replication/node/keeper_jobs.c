/*
 * What a volume controller has copied or compared, as a state table (controller_states.h): one
 * thing at a time.
 */
#include "replication/node/keeper.private.h"
#include "replication/node/rebuilds.h"

bool keeper_has_job(const struct keeper *keeper) {
    enum target_job job = keeper->status.job;

    return job == TARGET_REBUILD || job == TARGET_REPAIR || job == TARGET_SNAPSHOT ||
           job == TARGET_REVERT;
}

void keeper_take_work(struct keeper *keeper, enum replica_work_event event) {
    const struct state_row *row = state_table_next(&replica_work_states, &keeper->work, event);

    if (row && row->action == REPLICA_WORK_FREE_REBUILD)
        rebuilds_end(keeper->settings->rebuilds);
    if (row && row->action == REPLICA_WORK_FREE_COMPARE)
        rebuilds_end(keeper->settings->scrubs);
}

void keeper_end_jobs(struct keeper *keeper) {
    if (keeper_has_job(keeper))
        return;
    if (keeper->work == REPLICA_WORK_REBUILD)
        keeper_end_rebuild(keeper);
    if (keeper->work != REPLICA_WORK_SNAPSHOT && keeper->work != REPLICA_WORK_CANCEL)
        return;
    keeper_end_snapshot(keeper);
    keeper_take_work(keeper, REPLICA_WORK_ENDS);
}
