#include "volume/group_snapshot_part.h"

int group_snapshot_hand_over(struct work *work, const struct operation *held,
                             const struct group_snapshot_parts *parts, struct error *err) {
    for (int i = 0; i < parts->count; i++) {
        const struct snapshot *snapshot = &parts->snapshots[i];
        const struct operation fields = {
            .target_id = snapshot->id,
            .volume_id = snapshot->volume_id,
            .turn_of = parts->kind == &kind_snapshot_delete ? snapshot->id : snapshot->volume_id,
            .host = snapshot->host,
            .project_id = snapshot->project_id,
            .created_at = held->created_at,
        };

        if (parts->is_part[i] && operation_insert(work, parts->kind, &fields, NULL, err) < 0)
            return -1;
    }
    return operation_move(work, held->id, held->owner, PHASE_RUNNING, PHASE_WAITING, false, err) < 0
               ? -1
               : 0;
}

int group_snapshot_parts_ended(struct work *work, const struct operation *operation,
                               struct snapshot **ret, struct error *err) {
    int count = operation->phase == PHASE_WAITING
                    ? snapshot_of_group(work, operation->object_id, ret, err)
                    : 0;
    struct operation part;

    for (int i = 0; i < count; i++) {
        int open = operation_of(work, (*ret)[i].id, &part, err);

        if (open != 0)
            return open < 0 ? -1 : 0;
    }
    return count;
}

int group_snapshot_cancel_parts(struct work *work, const struct operation *operation,
                                struct error *err) {
    struct snapshot *snapshots;
    int count = snapshot_of_group(work, operation->object_id, &snapshots, err);
    struct operation part;

    for (int i = 0; i < count; i++) {
        int open = operation_of(work, snapshots[i].id, &part, err);

        if (open < 0 || (open > 0 && operation_cancel(work, &part, err) < 0))
            return -1;
    }
    return count < 0 ? -1 : 0;
}
