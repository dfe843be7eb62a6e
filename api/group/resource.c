#include "api/group/resource.h"

#include "model/type/group_type.h"
#include "model/type/reserved_type.h"
#include "rest/page.h"
#include "rest/request.h"

#include <string.h>

/* ---- visibility and details ---- */

static int with_volumes(struct request *request, bool *ret, struct error *err) {
    *ret = false;
    return request->minor >= MV_GROUP_VOLUMES ? request_flag(request, "list_volume", ret, err) : 0;
}

static struct volume_group *group_find(struct request *request, const char *id,
                                       struct policy_target *ret_owner, struct error *err) {
    struct volume_group *group = arena_alloc(request->work.arena, sizeof *group);

    if (group_get(&request->work, id, group, err) < 0)
        return NULL;
    *ret_owner = (struct policy_target){ group->project_id, group->user_id };
    return group;
}

static void *load(struct request *request, const char *id, struct policy_target *ret_owner,
                  struct error *err) {
    struct volume_group *group = group_find(request, id, ret_owner, err);
    bool volumes;

    if (!group || with_volumes(request, &volumes, err) < 0 ||
        group_type_refuse_reserved(group->group_type_name, err) < 0 ||
        (volumes && group_volumes(&request->work, group, err) < 0))
        return NULL;
    return group;
}

static void *load_consistency(struct request *request, const char *id,
                              struct policy_target *ret_owner, struct error *err) {
    struct volume_group *group = group_find(request, id, ret_owner, err);

    if (!group || group_type_is_reserved(group->group_type_name))
        return group;
    error_set(err, ERROR_NOT_FOUND, "Group %s is not a consistency group.", id);
    return NULL;
}

/* clang-format off */
static const struct resource_column columns[] = {
    { "id",                  "g.id",                  COLUMN_TEXT,   false, 0 },
    { "name",                "g.display_name",        COLUMN_TEXT,   true,  0 },
    { "description",         "g.display_description", COLUMN_TEXT,   false, 0 },
    { "status",              "g.status",              COLUMN_STATUS, false, 0 },
    { "availability_zone",   "g.availability_zone",   COLUMN_FILLED, false, 0 },
    { "host",                "g.host",                COLUMN_TEXT,   false, 0 },
    { "group_type_id",       "g.group_type_id",       COLUMN_TEXT,   false, 0 },
    { "group_snapshot_id",   "g.group_snapshot_id",   COLUMN_TEXT,   false, 0 },
    { "source_group_id",     "g.source_group_id",     COLUMN_TEXT,   false, 0 },
    { "replication_status",  "g.replication_status",  COLUMN_TEXT,   false, 0 },
    { "project_id",          "g.project_id",          COLUMN_TEXT,   false, 0 },
    { "user_id",             "g.user_id",             COLUMN_TEXT,   false, 0 },
    { "created_at",          "g.created_at",          COLUMN_TIME,   false, 0 },
    { "updated_at",          "g.updated_at",          COLUMN_TIME,   false, 0 },
    { .name = NULL },
};
/* clang-format on */
static const char *const admin_sorts[] = { "host", NULL };

/* list_volume is not a condition: list() reads it. */
static int filter(struct request *request, struct page *page, const char *key, const char *value,
                  struct error *err) {
    (void)page, (void)value, (void)err;
    return request->minor >= MV_GROUP_VOLUMES && strcmp(key, "list_volume") == 0;
}

void group_narrow(struct request *request, struct page *page, const char *column_in) {
    const struct db_value reserved = DB_TEXT(GROUP_TYPE_RESERVED);
    const char *condition = arena_format(
        request->work.arena, "%s (SELECT rt.id FROM group_types rt WHERE rt.name = ?)", column_in);

    page_and(request, page, condition, &reserved, 1);
}

static int narrow(struct request *request, struct page *page, struct error *err) {
    (void)err;
    group_narrow(request, page, "g.group_type_id NOT IN");
    return 0;
}

static int narrow_consistency(struct request *request, struct page *page, struct error *err) {
    (void)err;
    group_narrow(request, page, "g.group_type_id IN");
    return 0;
}

static int list(struct request *request, struct page *page, struct error *err) {
    struct volume_group *groups = NULL;
    bool volumes;
    int count;

    if (with_volumes(request, &volumes, err) < 0)
        return -1;
    count = group_list(&request->work, &page->query, volumes, &groups, err);
    page->rows = groups;
    return count;
}

/* ---- views ---- */

static void put_ids(struct request *request, const char *const *ids, unsigned count) {
    out_begin_array(&request->out);
    for (unsigned i = 0; i < count; i++)
        out_text(&request->out, ids[i]);
    out_end_array(&request->out);
}

static void put_types(struct request *request, const void *row) {
    const struct volume_group *group = row;

    put_ids(request, group->volume_types, group->volume_type_count);
}

static void put_volumes(struct request *request, const void *row) {
    const struct volume_group *group = row;

    put_ids(request, group->volumes, group->volume_count);
}

static bool has_volumes(const void *row) {
    const struct volume_group *group = row;

    return group->with_volumes;
}

static void put_status(struct request *request, const void *row) {
    const struct volume_group *group = row;

    out_text(&request->out, group_status_text(group->status));
}

enum { SEES_PROJECT = 1 };

/* clang-format off */
#define GROUP(member, ...) SHAPE(struct volume_group, member, __VA_ARGS__)
#define NULLS .flags = SHAPE_NULLABLE
#define GROUP_KEYS \
    GROUP(id,   "id",   TEXT), \
    GROUP(name, "name", TEXT, NULLS)
#define FULL_KEYS \
    GROUP_KEYS, \
    SHAPE_BY(put_status,      "status",             TEXT), \
    GROUP(availability_zone,  "availability_zone",  TEXT, NULLS), \
    GROUP(created_at,         "created_at",         TIME), \
    GROUP(description,        "description",        TEXT, NULLS)

static const struct shape_key group_keys[] = {
    FULL_KEYS,
    GROUP(group_type_id,      "group_type",         TEXT),
    SHAPE_BY(put_types,       "volume_types",       LIST),
    GROUP(group_snapshot_id,  "group_snapshot_id",  TEXT, NULLS, .since = MV_GROUP_SNAPSHOTS),
    GROUP(source_group_id,    "source_group_id",    TEXT, NULLS, .since = MV_GROUP_SNAPSHOTS),
    SHAPE_BY(put_volumes,     "volumes",            LIST, .since = MV_GROUP_VOLUMES,
             .has = has_volumes),
    GROUP(replication_status, "replication_status", TEXT, NULLS, .since = MV_GROUP_REPLICATION),
    GROUP(project_id,         "project_id",         TEXT, .since = MV_GROUP_PROJECT,
          .rights = SEES_PROJECT),
    SHAPES_END,
};
static const struct shape group_shape = { "group", group_keys };

static const struct shape_key consistency_keys[] = {
    FULL_KEYS,
    SHAPE_BY(put_types,       "volume_types",       LIST),
    SHAPES_END,
};
static const struct shape consistency_shape = { "consistencygroup", consistency_keys };

static const struct shape_key short_keys[] = { GROUP_KEYS, SHAPES_END };
const struct shape group_short_shape = { "group_short", short_keys };
/* clang-format on */

static void view(struct request *request, const void *row) {
    const struct volume_group *group = row;
    bool sees_project = request->minor >= MV_GROUP_PROJECT &&
                        request_allows_row(request, "group:group_project_attribute",
                                           group->project_id, group->user_id);

    shape_put(request, &group_shape, row, sees_project ? SEES_PROJECT : 0);
}

/* clang-format off */
#define GROUP_ROWS \
    RESOURCE_ROW(struct volume_group), .sees = "group:get", .sees_told = true, \
    .table = "volume_groups", .alias = "g", .columns = columns, \
    .admin_sorts = admin_sorts, .default_sort = "created_at", \
    .links_short = true, .by_project = true, .all_tenants_by_presence = true, .large = true, \
    .list = list, .short_shape = &group_short_shape
/* clang-format on */

const struct resource group_resource = {
    .name = "group",
    .plural = "groups",
    .collection = "groups",
    .label = "Group",
    .load = load,
    GROUP_ROWS,
    .links_word = "group_links",
    .filter = filter,
    .narrow = narrow,
    .view = view,
    .shape = &group_shape,
};

const struct resource consistency_group_resource = {
    .name = "consistencygroup",
    .plural = "consistencygroups",
    .collection = "consistencygroups",
    .label = "ConsistencyGroup",
    .load = load_consistency,
    GROUP_ROWS,
    .links_word = "consistencygroup_links",
    .narrow = narrow_consistency,
    .shape = &consistency_shape,
};
