#include "api/group/snapshot_resource.h"

#include "api/group/resource.h"
#include "api/routes.h"
#include "common/scoria_headers.h"
#include "model/group/snapshot_create.h"
#include "model/group/snapshot_delete.h"
#include "model/type/group_type.h"
#include "model/type/reserved_type.h"
#include "rest/answer.h"
#include "rest/page.h"
#include "rest/status_body.h"
#include "rest/unique.h"

/* ---- the resource ---- */

static struct group_snapshot *group_snapshot_find(struct request *request, const char *id,
                                                  struct policy_target *ret_owner,
                                                  struct error *err) {
    struct group_snapshot *group_snapshot =
        arena_alloc(request->work.arena, sizeof *group_snapshot);

    if (group_snapshot_get(&request->work, id, group_snapshot, err) < 0)
        return NULL;
    *ret_owner = (struct policy_target){ group_snapshot->project_id, group_snapshot->user_id };
    return group_snapshot;
}

static void *load(struct request *request, const char *id, struct policy_target *ret_owner,
                  struct error *err) {
    struct group_snapshot *row = group_snapshot_find(request, id, ret_owner, err);

    return row && group_type_refuse_reserved(row->group_type_name, err) == 0 ? row : NULL;
}

static void *load_cgsnapshot(struct request *request, const char *id,
                             struct policy_target *ret_owner, struct error *err) {
    struct group_snapshot *row = group_snapshot_find(request, id, ret_owner, err);

    if (!row || group_type_is_reserved(row->group_type_name))
        return row;
    error_set(err, ERROR_NOT_FOUND, "Group snapshot %s does not belong to a consistency group.",
              id);
    return NULL;
}

/* clang-format off */
#define COLUMNS(group_id_) \
    { "id", "gs.id", COLUMN_TEXT, false, 0 }, \
    { "name", "gs.display_name", COLUMN_TEXT, true, 0 }, \
    { "description", "gs.display_description", COLUMN_TEXT, false, 0 }, \
    { "status", "gs.status", COLUMN_STATUS, true, 0 }, \
    { group_id_, "gs.group_id", COLUMN_TEXT, true, 0 }, \
    { "group_type_id", "gs.group_type_id", COLUMN_TEXT, false, 0 }, \
    { "project_id", "gs.project_id", COLUMN_TEXT, false, 0 }, \
    { "user_id", "gs.user_id", COLUMN_TEXT, false, 0 }, \
    { "created_at", "gs.created_at", COLUMN_TIME, false, 0 }, \
    { "updated_at", "gs.updated_at", COLUMN_TIME, false, 0 }, \
    { .name = NULL }
/* clang-format on */

static const struct resource_column columns[] = { COLUMNS("group_id") };
static const struct resource_column cgsnapshot_columns[] = { COLUMNS("consistencygroup_id") };

static int narrow(struct request *request, struct page *page, struct error *err) {
    (void)err;
    group_narrow(request, page, "gs.group_type_id NOT IN");
    return 0;
}

static int narrow_cgsnapshots(struct request *request, struct page *page, struct error *err) {
    (void)err;
    group_narrow(request, page, "gs.group_type_id IN");
    return 0;
}

RESOURCE_LIST(list, struct group_snapshot, group_snapshot_list)

enum { SEES_PROJECT = 1 };

static void put_status(struct request *request, const void *row) {
    const struct group_snapshot *group_snapshot = row;

    out_text(&request->out, group_snapshot_status_text(group_snapshot->status));
}

/* clang-format off */
#define GROUP_SNAPSHOT(member, ...) SHAPE(struct group_snapshot, member, __VA_ARGS__)
#define NULLS .flags = SHAPE_NULLABLE
#define SHORT_KEYS \
    GROUP_SNAPSHOT(id,   "id",   TEXT), \
    GROUP_SNAPSHOT(name, "name", TEXT, NULLS)

static const struct shape_key keys[] = {
    SHORT_KEYS,
    GROUP_SNAPSHOT(group_id,      "group_id",      TEXT),
    GROUP_SNAPSHOT(group_type_id, "group_type_id", TEXT),
    SHAPE_BY(put_status,          "status",        TEXT),
    GROUP_SNAPSHOT(created_at,    "created_at",    TIME),
    GROUP_SNAPSHOT(description,   "description",   TEXT, NULLS),
    GROUP_SNAPSHOT(project_id,    "project_id",    TEXT, .since = MV_GROUP_PROJECT,
                   .rights = SEES_PROJECT),
    SHAPES_END,
};
static const struct shape shape = { "group_snapshot", keys };

static const struct shape_key short_keys[] = { SHORT_KEYS, SHAPES_END };
static const struct shape short_shape = { "group_snapshot_short", short_keys };

static const struct shape_key cgsnapshot_keys[] = {
    SHORT_KEYS,
    GROUP_SNAPSHOT(group_id,      "consistencygroup_id", TEXT),
    SHAPE_BY(put_status,          "status",        TEXT),
    GROUP_SNAPSHOT(created_at,    "created_at",    TIME),
    GROUP_SNAPSHOT(description,   "description",   TEXT, NULLS),
    SHAPES_END,
};
static const struct shape cgsnapshot_shape = { "cgsnapshot", cgsnapshot_keys };

static const struct shape_key made_keys[] = {
    SHORT_KEYS,
    GROUP_SNAPSHOT(group_type_id, "group_type_id", TEXT),
    SHAPES_END,
};
static const struct shape made_shape = { NULL, made_keys };
/* clang-format on */

static void view(struct request *request, const void *row) {
    const struct group_snapshot *snapshot = row;
    const struct policy_target owner = { snapshot->project_id, snapshot->user_id };
    bool sees = request->minor >= MV_GROUP_PROJECT &&
                request_allows(request, "group:group_snapshot_project_attribute", &owner);

    shape_put(request, &shape, row, sees ? SEES_PROJECT : 0);
}

const struct resource group_snapshot_resource = {
    .name = "group_snapshot",
    .plural = "group_snapshots",
    .collection = "group_snapshots",
    .label = "GroupSnapshot",
    RESOURCE_ROW(struct group_snapshot),

    .load = load,
    .sees = "group:get_group_snapshot",
    .sees_told = true,

    .table = "group_snapshots",
    .alias = "gs",
    .columns = columns,
    .default_sort = "created_at",
    .links_word = "group_snapshot_links",
    .links_short = true,
    .query_since = MV_GROUP_SNAPSHOT_PAGES,
    .by_project = true,
    .all_tenants_by_presence = true,
    .narrow = narrow,
    .list = list,
    .view = view,
    .shape = &shape,
    .short_shape = &short_shape,
};

const struct resource cgsnapshot_resource = {
    .name = "cgsnapshot",
    .plural = "cgsnapshots",
    .collection = "cgsnapshots",
    .label = "CgSnapshot",
    RESOURCE_ROW(struct group_snapshot),

    .load = load_cgsnapshot,
    .sees = "group:get_group_snapshot",
    .sees_told = true,

    .table = "group_snapshots",
    .alias = "gs",
    .columns = cgsnapshot_columns,
    .default_sort = "created_at",
    .limit_0_is_none = true,
    .by_project = true,
    .all_tenants_by_presence = true,
    .narrow = narrow_cgsnapshots,
    .list = list,
    .shape = &cgsnapshot_shape,
    .short_shape = &short_shape,
};

/* ---- operations ---- */

struct create_body {
    const char *group_id, *name, *description;
};

static const struct field create_fields[] = {
    FIELD_UUID(struct create_body, group_id, "group_id", FIELD_REQUIRED),
    FIELD_NAME0(struct create_body, name, "name", 0),
    FIELD_DESC(struct create_body, description, "description", 0),
    FIELDS_END,
};

static const struct field cgsnapshot_fields[] = {
    FIELD_UUID(struct create_body, group_id, "consistencygroup_id", FIELD_REQUIRED),
    FIELD_NAME0(struct create_body, name, "name", 0),
    FIELD_DESC(struct create_body, description, "description", 0),
    FIELDS_END,
};

static int create_of(struct request *request, const struct resource *groups, struct error *err) {
    const struct create_body *body = request->body;
    const struct group_snapshot_new wanted = { body->name, body->description };
    const struct volume_group *group;
    struct group_snapshot made;
    struct policy_target owner;

    group = resource_load(request, groups, body->group_id, &owner, err);
    if (!group || request_authorize(request, "group:create_group_snapshot", &owner, err) < 0 ||
        unique_check_name(request, &group_snapshot_resource, body->name, body->description, err) <
            0 ||
        group_snapshot_create(&request->work, group, &wanted, &made, err) < 0)
        return -1;
    answer_row(request, &made, 0);
    return 0;
}

static int create(struct request *request, struct error *err) {
    return create_of(request, &group_resource, err);
}

static int create_cgsnapshot(struct request *request, struct error *err) {
    return create_of(request, &consistency_group_resource, err);
}

static int delete (struct request *request, struct error *err) {
    return group_snapshot_delete(&request->work, request->object, err);
}

static int reset_status(struct request *request, struct error *err) {
    const struct status_body *body = request->body;

    return group_snapshot_reset_status(&request->work, request->object, body->status, err);
}

/* The reference has the rule and the path, and nothing that could be changed. */
static int refuse_update(struct request *request, struct error *err) {
    (void)request;
    return error_set(err, ERROR_BAD_REQUEST,
                     "There is nothing of a group snapshot that can be updated.");
}

/* clang-format off */
#define CGSNAPSHOTS(method_, path_, handler_, status_) \
    .method = method_, .path = "/cgsnapshots" path_, .resource = &cgsnapshot_resource, \
    .handler = handler_, .status = status_

const struct route group_snapshot_routes[] = {
    { .method = "GET", .path = "/group_snapshots", .since = MV_GROUP_SNAPSHOTS,
      .resource = &group_snapshot_resource, .rule = "group:get_all_group_snapshots", .handler = resource_list,
      .status = 200 },
    { .method = "GET", .path = "/group_snapshots/detail", .since = MV_GROUP_SNAPSHOTS,
      .resource = &group_snapshot_resource, .rule = "group:get_all_group_snapshots",
      .handler = resource_list_detail, .status = 200 },
    { .method = "POST", .path = "/group_snapshots", .since = MV_GROUP_SNAPSHOTS,
      HEADER_IN(IN_HEADER, UNIQUE_HEADER), .wrapper = "group_snapshot", BODY(create_fields, struct create_body),
      ANSWER("group_snapshot", made_shape), .handler = create, .status = 202 },
    { .method = "GET", .path = "/group_snapshots/{id}", .since = MV_GROUP_SNAPSHOTS,
      .resource = &group_snapshot_resource, .handler = resource_show, .status = 200 },
    { .method = "PUT", .path = "/group_snapshots/{id}", .since = MV_GROUP_SNAPSHOTS,
      .resource = &group_snapshot_resource, .rule = "group:update_group_snapshot", .handler = refuse_update,
      .status = 400, .flags = ROUTE_ANY_VALUE },
    { .method = "DELETE", .path = "/group_snapshots/{id}", .since = MV_GROUP_SNAPSHOTS,
      .resource = &group_snapshot_resource, .rule = "group:delete_group_snapshot", .handler = delete,
      .status = 202, .flags = ROUTE_BARE },
    { .method = "POST", .path = "/group_snapshots/{id}/action", .action = "reset_status",
      .since = MV_GROUP_SNAPSHOT_RESET, .resource = &group_snapshot_resource,
      .rule = "group:reset_group_snapshot_status", BODY(status_body_fields, struct status_body),
      .handler = reset_status, .status = 202 },

    { CGSNAPSHOTS("GET", "", resource_list, 200), .rule = "group:get_all_group_snapshots" },
    { CGSNAPSHOTS("GET", "/detail", resource_list_detail, 200),
      .rule = "group:get_all_group_snapshots" },
    { CGSNAPSHOTS("POST", "", create_cgsnapshot, 202), .wrapper = "cgsnapshot", .flags = ROUTE_OPEN,
      BODY(cgsnapshot_fields, struct create_body), ANSWER("cgsnapshot", short_shape) },
    { CGSNAPSHOTS("GET", "/{id}", resource_show, 200) },
    { CGSNAPSHOTS("DELETE", "/{id}", delete, 202), .rule = "group:delete_group_snapshot",
      .flags = ROUTE_BARE },
    ABSENT("PUT", "/cgsnapshots/{id}"),
    ROUTES_END,
};
/* clang-format on */
