#include "model/group/group.h"

#define GROUP_SELECT                                                                             \
    "SELECT g.id, g.project_id, g.user_id, g.host, g.availability_zone, g.display_name, "        \
    "g.display_description, g.status, g.status_by_reset, g.group_type_id, g.group_snapshot_id, " \
    "g.source_group_id, g.replication_status, g.created_at, g.updated_at, t.name "               \
    "FROM volume_groups g LEFT JOIN group_types t ON t.id = g.group_type_id "

static int read_group(struct work *work, const struct db_rows *rows, void *item,
                      struct error *err) {
    struct arena *arena = work->arena;
    struct volume_group *group = item;
    unsigned status;

    *group = (struct volume_group){
        .id = db_copy(rows, 0, arena),
        .project_id = db_copy(rows, 1, arena),
        .user_id = db_copy(rows, 2, arena),
        .host = db_copy(rows, 3, arena),
        .availability_zone = db_copy(rows, 4, arena),
        .name = db_copy(rows, 5, arena),
        .description = db_copy(rows, 6, arena),
        .status_by_reset = db_bool(rows, 8),
        .group_type_id = db_copy(rows, 9, arena),
        .group_snapshot_id = db_copy(rows, 10, arena),
        .source_group_id = db_copy(rows, 11, arena),
        .replication_status = db_copy(rows, 12, arena),
        .created_at = db_int(rows, 13),
        .updated_at = db_int(rows, 14),
        .group_type_name = db_copy(rows, 15, arena),
    };
    if (status_find(&group_objects, db_text(rows, 7), &status) < 0)
        return error_set(err, ERROR_INTERNAL, "Group %s has the unknown status \"%s\".", group->id,
                         db_text(rows, 7));
    group->status = (enum group_status)status;
    return 0;
}

static int load_types(struct work *work, struct volume_group *group, struct error *err) {
    const char **types;
    int count = query_all(work,
                          db_query(work->tx, err,
                                   "SELECT volume_type_id FROM group_volume_types "
                                   "WHERE group_id = $1 ORDER BY volume_type_id",
                                   DB_TEXT(group->id)),
                          query_text, &types, err);

    if (count < 0)
        return -1;
    group->volume_types = types;
    group->volume_type_count = (unsigned)count;
    return 0;
}

/* $2 is 1 if all are visible, else $3 is the caller's project. */
static int group_one(struct work *work, const char *id, bool all, struct volume_group *ret,
                     struct error *err) {
    struct db_rows *rows =
        db_query(work->tx, err, GROUP_SELECT "WHERE g.id = $1 AND ($2 = 1 OR g.project_id = $3)",
                 DB_TEXT(id), DB_BOOL(all), DB_TEXT(all ? NULL : work->context->project_id));
    struct volume_group group;

    if (error_if_none(query_one(work, rows, read_group, &group, err), err, ERROR_NOT_FOUND,
                      "Group %s could not be found.", id) < 0 ||
        load_types(work, &group, err) < 0)
        return -1;
    *ret = group;
    return 0;
}

int group_get(struct work *work, const char *id, struct volume_group *ret, struct error *err) {
    return group_one(work, id, work->context->is_admin, ret, err);
}

int group_row(struct work *work, const char *id, struct volume_group *ret, struct error *err) {
    return group_one(work, id, true, ret, err);
}

int group_volumes(struct work *work, struct volume_group *group, struct error *err) {
    const char **volumes;
    int count = query_all(work,
                          db_query(work->tx, err,
                                   "SELECT v.id FROM volumes v WHERE v.group_id = $1 "
                                   "ORDER BY v.created_at, v.id",
                                   DB_TEXT(group->id)),
                          query_text, &volumes, err);

    if (count < 0)
        return -1;
    group->with_volumes = true;
    group->volumes = volumes;
    group->volume_count = (unsigned)count;
    return 0;
}

/* A page ends where its details exceed the limit of memory, after the first at the earliest. */
int group_list(struct work *work, const struct query *query, bool with_volumes,
               struct volume_group **ret, struct error *err) {
    struct volume_group *groups;
    int count =
        query_all(work, query_page(work, GROUP_SELECT, query, err), read_group, &groups, err);
    size_t before = arena_bytes(work->arena);

    if (count >= 0)
        *ret = groups;
    for (int i = 0; query->with_details && i < count; i++) {
        if (load_types(work, &groups[i], err) < 0 ||
            (with_volumes && group_volumes(work, &groups[i], err) < 0))
            return -1;
        if (query->bytes_most > 0 && i + 1 < count &&
            arena_bytes(work->arena) - before > query->bytes_most) {
            *query->cut = true;
            return i + 1;
        }
    }
    return count;
}

int group_members(struct work *work, const char *group_id, struct volume **ret, struct error *err) {
    const struct db_value id = DB_TEXT(group_id);
    const struct query members = {
        .where = "v.group_id = $1", .values = &id, .value_count = 1, .order = "v.id", .limit = -1
    };

    return volume_list_attached(work, &members, ret, err);
}
