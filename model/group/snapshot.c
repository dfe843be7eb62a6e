#include "model/group/snapshot.h"

#define GROUP_SNAPSHOT_SELECT                                                                   \
    "SELECT gs.id, gs.project_id, gs.user_id, gs.group_id, gs.group_type_id, gs.display_name, " \
    "gs.display_description, gs.status, gs.status_by_reset, gs.created_at, gs.updated_at, "     \
    "t.name FROM group_snapshots gs LEFT JOIN group_types t ON t.id = gs.group_type_id "

static int read_group_snapshot(struct work *work, const struct db_rows *rows, void *item,
                               struct error *err) {
    struct arena *arena = work->arena;
    struct group_snapshot *group_snapshot = item;
    unsigned status;

    *group_snapshot = (struct group_snapshot){
        .id = db_copy(rows, 0, arena),
        .project_id = db_copy(rows, 1, arena),
        .user_id = db_copy(rows, 2, arena),
        .group_id = db_copy(rows, 3, arena),
        .group_type_id = db_copy(rows, 4, arena),
        .name = db_copy(rows, 5, arena),
        .description = db_copy(rows, 6, arena),
        .status_by_reset = db_bool(rows, 8),
        .created_at = db_int(rows, 9),
        .updated_at = db_int(rows, 10),
        .group_type_name = db_copy(rows, 11, arena),
    };
    if (status_find(&group_snapshot_objects, db_text(rows, 7), &status) < 0)
        return error_set(err, ERROR_INTERNAL, "Group snapshot %s has the unknown status \"%s\".",
                         group_snapshot->id, db_text(rows, 7));
    group_snapshot->status = (enum group_snapshot_status)status;
    return 0;
}

/* $2 is 1 if all are visible, else $3 is the caller's project. */
static int one(struct work *work, const char *id, bool all, struct group_snapshot *ret,
               struct error *err) {
    struct db_rows *rows = db_query(
        work->tx, err, GROUP_SNAPSHOT_SELECT "WHERE gs.id = $1 AND ($2 = 1 OR gs.project_id = $3)",
        DB_TEXT(id), DB_BOOL(all), DB_TEXT(all ? NULL : work->context->project_id));

    return error_if_none(query_one(work, rows, read_group_snapshot, ret, err), err, ERROR_NOT_FOUND,
                         "GroupSnapshot %s could not be found.", id);
}

int group_snapshot_get(struct work *work, const char *id, struct group_snapshot *ret,
                       struct error *err) {
    return one(work, id, work->context->is_admin, ret, err);
}

int group_snapshot_row(struct work *work, const char *id, struct group_snapshot *ret,
                       struct error *err) {
    return one(work, id, true, ret, err);
}

int group_snapshot_list(struct work *work, const struct query *query, struct group_snapshot **ret,
                        struct error *err) {
    return query_all(work, query_page(work, GROUP_SNAPSHOT_SELECT, query, err), read_group_snapshot,
                     ret, err);
}
