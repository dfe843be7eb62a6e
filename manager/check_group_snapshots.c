#include "manager/check.private.h"
#include "volume/group_snapshot.h"

/* ---- P1 ---- */

static void check_status(struct round *round, const struct group_snapshot *row) {
    const struct operation *operation = round_operation_at(round, row->id);

    if (group_snapshot_status_is_transient(row->status) && !row->status_by_reset &&
        !(operation && operation->kind->object && operation->kind->meanwhile == row->status))
        round_found(round, "P1", "group snapshot %s is %s, but no operation will end that", row->id,
                    group_snapshot_status_text(row->status));
}

/* ---- P5 ---- */

static int check_target(struct round *round, struct work *work, const struct operation *operation,
                        struct error *err) {
    struct group_snapshot row;

    if (operation->kind->object != &group_snapshot_objects || operation->phase == PHASE_CANCELLED ||
        group_snapshot_row(work, operation->object_id, &row, err) == 0)
        return 0;
    if (err->kind != ERROR_NOT_FOUND)
        return -1;
    round_found(round, "P5", "operation %s (%s) works for group snapshot %s, which does not exist",
                operation->id, operation->kind->name, operation->object_id);
    return 0;
}

static int check_turns(struct round *round, struct work *work, struct error *err) {
    const char **lost;
    int count = query_all(work,
                          db_query(work->tx, err,
                                   "SELECT DISTINCT operation_id FROM operation_turns "
                                   "WHERE operation_id NOT IN (SELECT id FROM operations)"),
                          query_text, &lost, err);

    for (int i = 0; i < count; i++)
        round_found(round, "P5", "turns wait for operation %s, which does not exist", lost[i]);
    return count < 0 ? -1 : 0;
}

int round_read_group_snapshots(struct round *round, struct work *work, struct error *err) {
    const struct query all = { .where = "1=1", .order = "gs.id", .limit = -1 };
    struct group_snapshot *rows;
    int count = group_snapshot_list(work, &all, &rows, err);

    for (int i = 0; i < count; i++)
        check_status(round, &rows[i]);
    for (int i = 0; i < round->operation_count; i++)
        if (check_target(round, work, &round->operations[i], err) < 0)
            return -1;
    return count < 0 ? -1 : check_turns(round, work, err);
}
