#include "api/group_resource.h"

#include "api/page.h"
#include "api/request.h"
#include "volume/group_type.h"

#include <string.h>

/* ---- which, and with what ---- */

static int with_volumes(struct request *request, bool *ret, struct error *err) {
    *ret = false;
    return request->minor >= MV_GROUP_VOLUMES ? request_flag(request, "list_volume", ret, err) : 0;
}

static void *load(struct request *request, const char *id, struct policy_target *ret_owner,
                  struct error *err) {
    struct volume_group *group = arena_alloc(request->work.arena, sizeof *group);
    bool volumes;

    if (with_volumes(request, &volumes, err) < 0 || group_get(&request->work, id, group, err) < 0 ||
        (volumes && group_volumes(&request->work, group, err) < 0))
        return NULL;
    *ret_owner = (struct policy_target){ group->project_id, group->user_id };
    if (strcmp(group->group_type_name, GROUP_TYPE_RESERVED) != 0)
        return group;
    error_set(err, ERROR_BAD_REQUEST,
              "Group type %s is reserved for consistency groups, which this service has not.",
              GROUP_TYPE_RESERVED);
    return NULL;
}

/* clang-format off */
static const struct resource_column columns[] = {
    { "id",                  "g.id",                  COLUMN_TEXT,   false, 0 },
    { "name",                "g.display_name",        COLUMN_TEXT,   true,  0 },
    { "description",         "g.display_description", COLUMN_TEXT,   false, 0 },
    { "status",              "g.status",              COLUMN_STATUS, false, 0 },
    { "availability_zone",   "g.availability_zone",   COLUMN_TEXT,   false, 0 },
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

/* list_volume is no condition: list() reads it. */
static int filter(struct request *request, struct page *page, const char *key, const char *value,
                  struct error *err) {
    (void)page, (void)value, (void)err;
    return request->minor >= MV_GROUP_VOLUMES && strcmp(key, "list_volume") == 0;
}

/* Groups of the reserved type are consistency groups, and not here. */
static int narrow(struct request *request, struct page *page, struct error *err) {
    const struct db_value reserved = DB_TEXT(GROUP_TYPE_RESERVED);

    (void)err;
    page_and(request, page, "g.group_type_id NOT IN (SELECT id FROM group_types WHERE name = ?)",
             &reserved, 1);
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

/* The owner that was asked about last. */
struct group_rights {
    const char *project_id;
    bool project;
};

static bool shows_project(struct request *request, const struct volume_group *group) {
    const struct policy_target owner = { group->project_id, group->user_id };
    struct group_rights *rights = request->view;

    if (request->minor < MV_GROUP_PROJECT)
        return false;
    if (!rights)
        rights = request->view = arena_alloc(request->work.arena, sizeof *rights);
    if (!rights->project_id || strcmp(rights->project_id, group->project_id) != 0)
        *rights = (struct group_rights){
            group->project_id,
            request_allows(request, "group:group_project_attribute", &owner),
        };
    return rights->project;
}

static void put_ids(struct json_out *out, const char *key, const char *const *ids, unsigned count) {
    out_key_text(out, key);
    out_begin_array(out);
    for (unsigned i = 0; i < count; i++)
        out_text(out, ids[i]);
    out_end_array(out);
}

static void put_details(struct request *request, const struct volume_group *group) {
    struct json_out *out = &request->out;

    out_put_text(out, "status", group_status_text(group->status));
    out_put_text(out, "availability_zone", group->availability_zone);
    out_put_time(out, "created_at", group->created_at);
    out_put_text(out, "description", group->description);
    out_put_text(out, "group_type", group->group_type_id);
    put_ids(out, "volume_types", group->volume_types, group->volume_type_count);
    if (request->minor >= MV_GROUP_SNAPSHOTS) {
        out_put_text(out, "group_snapshot_id", group->group_snapshot_id);
        out_put_text(out, "source_group_id", group->source_group_id);
    }
    if (group->with_volumes)
        put_ids(out, "volumes", group->volumes, group->volume_count);
    if (request->minor >= MV_GROUP_REPLICATION)
        out_put_text(out, "replication_status", group->replication_status);
    if (shows_project(request, group))
        out_put_text(out, "project_id", group->project_id);
}

static void view(struct request *request, const void *row, bool detail) {
    const struct volume_group *group = row;

    out_begin_object(&request->out);
    out_put_text(&request->out, "id", group->id);
    out_put_text(&request->out, "name", group->name);
    if (detail)
        put_details(request, group);
    out_end_object(&request->out);
}

void group_answer(struct request *request, const struct volume_group *group) {
    out_begin_object(&request->out);
    out_key(&request->out, "group");
    view(request, group, false);
    out_end_object(&request->out);
}

const struct resource group_resource = {
    .name = "group",
    .plural = "groups",
    .collection = "groups",
    .label = "Group",
    RESOURCE_ROW(struct volume_group),

    .load = load,
    .sees = "group:get",
    .sees_told = true,

    .table = "volume_groups",
    .alias = "g",
    .columns = columns,
    .default_sort = "created_at",
    .links_word = "group_links",
    .links_short = true,
    .by_project = true,
    .all_tenants_by_presence = true,
    .large = true,
    .filter = filter,
    .narrow = narrow,
    .list = list,
    .view = view,
};
