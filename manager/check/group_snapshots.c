#include "common/cleanup.h"
#include "manager/check/check.private.h"
#include "model/group/snapshot.h"

static const struct disagreement disagreements[] = {
    { "P5",
      "SELECT DISTINCT operation_id FROM operation_turns "
      "WHERE operation_id NOT IN (SELECT id FROM operations)",
      "turns wait for operation", "which does not exist" },
    { "P5",
      "SELECT DISTINCT o.id FROM operations o JOIN snapshots s ON s.group_snapshot_id = "
      "o.object_id WHERE o.phase <> 'cancelled' AND NOT EXISTS (SELECT 1 FROM operation_turns t "
      "WHERE t.operation_id = o.id AND t.turn_of = s.volume_id)",
      "operation", "works on a volume and does not wait for its turn" },
    { "P1",
      "SELECT o.id FROM operations o WHERE o.kind IN ('group_snapshot_create', "
      "'group_snapshot_delete') AND o.phase = 'waiting' AND NOT EXISTS (SELECT 1 FROM snapshots s "
      "JOIN operations part ON part.target_id = s.id WHERE s.group_snapshot_id = o.object_id)",
      "operation", "waits for parts that do not exist" },
    { "P5",
      "SELECT s.id FROM snapshots s WHERE NOT EXISTS (SELECT 1 FROM volumes v "
      "WHERE v.id = s.volume_id)",
      "snapshot", "is of a volume that does not exist" },
    { "P5",
      "SELECT s.id FROM snapshots s WHERE s.group_snapshot_id IS NOT NULL AND NOT EXISTS (SELECT 1 "
      "FROM group_snapshots g WHERE g.id = s.group_snapshot_id AND g.project_id = s.project_id)",
      "snapshot", "is part of a group snapshot that its project does not have" },
    { "P3", "SELECT s.id FROM snapshots s WHERE s.status = 'available' AND s.delete_begun = 1",
      "snapshot", "is available, but a delete of it has begun" },
    { "P5",
      "SELECT g.id FROM group_snapshots g WHERE NOT EXISTS (SELECT 1 FROM snapshots s "
      "WHERE s.group_snapshot_id = g.id)",
      "group snapshot", "has no snapshots" },
    { "P5",
      "SELECT g.id FROM group_snapshots g WHERE NOT EXISTS (SELECT 1 FROM volume_groups v "
      "WHERE v.id = g.group_id)",
      "group snapshot", "is of a group that does not exist" },
    { "P5",
      "SELECT g.id FROM (SELECT id, group_type_id FROM volume_groups UNION ALL "
      "SELECT id, group_type_id FROM group_snapshots) g WHERE NOT EXISTS (SELECT 1 FROM "
      "group_types t WHERE t.id = g.group_type_id)",
      "group or group snapshot", "has a group type that does not exist" },
    { "P5",
      "SELECT v.id FROM volumes v WHERE v.group_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM "
      "group_volume_types t WHERE t.group_id = v.group_id AND t.volume_type_id = v.volume_type_id)",
      "volume", "is in a group that has none of its type" },
};

int round_read_group_snapshots(struct round *round, struct work *work, struct error *err) {
    const struct query all = { .where = "1=1", .order = "gs.id", .limit = -1 };
    struct group_snapshot *rows, target;
    int count = group_snapshot_list(work, &all, &rows, err);

    if (count < 0)
        return -1;
    for (int i = 0; i < count; i++) {
        const struct group_snapshot *row = &rows[i];
        const struct operation *operation = round_operation_at(round, row->id);

        if (group_snapshot_status_is_transient(row->status) &&
            !(operation && operation->kind->object && operation->kind->meanwhile == row->status))
            round_status_stays(round, "group snapshot", row->id,
                               group_snapshot_status_text(row->status), row->status_by_reset);
    }
    for (int i = 0; i < round->operation_count; i++) {
        const struct operation *operation = &round->operations[i];

        if (operation->kind->object != &group_snapshot_objects ||
            operation->phase == PHASE_CANCELLED ||
            group_snapshot_row(work, operation->object_id, &target, err) == 0)
            continue;
        if (err->kind != ERROR_NOT_FOUND)
            return -1;
        round_found(round, "P5",
                    "operation %s (%s) works for group snapshot %s, which does not exist",
                    operation->id, operation->kind->name, operation->object_id);
    }
    return round_check_agree(round, work, disagreements, LENGTH(disagreements), err);
}
