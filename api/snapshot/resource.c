#include "api/snapshot/resource.h"

#include "api/volume/view.h"
#include "rest/page_pairs.h"
#include "rest/route.h"

#include <string.h>

static void *load(struct request *request, const char *id, struct policy_target *ret_owner,
                  struct error *err) {
    struct snapshot *snapshot = arena_alloc(request->work.arena, sizeof(*snapshot));

    if (snapshot_get(&request->work, id, snapshot, err) < 0)
        return NULL;
    *ret_owner = (struct policy_target){ snapshot->project_id, snapshot->user_id };
    return snapshot;
}

/* ---- the list ---- */

#define OF_VOLUME(column) "(SELECT v." column " FROM volumes v WHERE v.id = s.volume_id)"

/* clang-format off */
static const struct resource_column columns[] = {
    { "id",                  "s.id",                         COLUMN_TEXT,   false, 0 },
    { "name",                "s.display_name",               COLUMN_TEXT,   true,  0 },
    { "display_name",        "s.display_name",               COLUMN_TEXT,   false, 0 },
    { "description",         "s.display_description",        COLUMN_TEXT,   false, 0 },
    { "display_description", "s.display_description",        COLUMN_TEXT,   false, 0 },
    { "status",              "s.status",                     COLUMN_STATUS, true,  0 },
    { "volume_id",           "s.volume_id",                  COLUMN_FILLED, true,  0 },
    { "availability_zone",   "s.availability_zone",          COLUMN_FILLED, true,  MV_STRICT_FILTERS },
    { "consumes_quota",      "s.use_quota",                  COLUMN_BOOL,   true,  MV_STRICT_FILTERS },
    { "use_quota",           "s.use_quota",                  COLUMN_BOOL,   false, 0 },
    { "volume_size",         "s.size_gb",                    COLUMN_INT,    false, 0 },
    { "size",                "s.size_gb",                    COLUMN_INT,    false, 0 },
    { "progress",            "s.progress",                   COLUMN_TEXT,   false, 0 },
    { "project_id",          "s.project_id",                 COLUMN_TEXT,   false, 0 },
    { "user_id",             "s.user_id",                    COLUMN_TEXT,   false, 0 },
    { "host",                OF_VOLUME("host"),              COLUMN_TEXT,   false, 0 },
    { "volume_type_id",      OF_VOLUME("volume_type_id"),    COLUMN_TEXT,   false, 0 },
    { "group_snapshot_id",   "s.group_snapshot_id",          COLUMN_TEXT,   false, 0 },
    { "provider_location",   "s.provider_location",          COLUMN_TEXT,   false, 0 },
    { "created_at",          "s.created_at",                 COLUMN_TIME,   false, 0 },
    { "updated_at",          "s.updated_at",                 COLUMN_TIME,   false, 0 },
    { .name = NULL },
};
/* clang-format on */
static const char *const admin_sorts[] = { "host", "provider_location", NULL };

static void match_metadata(struct request *request, struct page *page, const struct pair *pair) {
    page_sought_pair(request, page, &snapshot_metadata_rows, pair);
}

/* Before 3.22 the metadata are dropped. */
static int filter(struct request *request, struct page *page, const char *key, const char *value,
                  struct error *err) {
    if (strcmp(key, "metadata") != 0)
        return 0;
    return request->minor < MV_SNAPSHOT_METADATA_FILTER
               ? 1
               : page_filter_pairs(request, page, key, value, match_metadata, err);
}

RESOURCE_LIST(list, struct snapshot, snapshot_list)

/* ---- views ---- */

enum { SEES_ATTRIBUTES = 1 };

static void put_status(struct request *request, const void *row) {
    const struct snapshot *snapshot = row;

    out_text(&request->out, snapshot_status_shown(snapshot->status));
}

/* clang-format off */
#define SNAPSHOT(member, ...) SHAPE(struct snapshot, member, __VA_ARGS__)
#define NULLS .flags = SHAPE_NULLABLE
#define SNAPSHOT_KEYS \
    SNAPSHOT(id,          "id",          TEXT), \
    SNAPSHOT(created_at,  "created_at",  TIME), \
    SNAPSHOT(updated_at,  "updated_at",  TIME, NULLS), \
    SNAPSHOT(name,        "name",        TEXT, NULLS), \
    SNAPSHOT(description, "description", TEXT, NULLS), \
    SNAPSHOT(volume_id,   "volume_id",   TEXT), \
    SHAPE_BY(put_status,  "status",      TEXT), \
    SNAPSHOT(size_gb,     "size",        INT), \
    SNAPSHOT(metadata,    "metadata",    PAIRS)

static const struct shape_key snapshot_keys[] = {
    SNAPSHOT_KEYS,
    SNAPSHOT(group_snapshot_id, "group_snapshot_id", TEXT, NULLS, .since = MV_GROUP_SNAPSHOTS),
    SNAPSHOT(user_id,           "user_id",           TEXT, .since = MV_SNAPSHOT_USER),
    SNAPSHOT(use_quota,         "consumes_quota",    BOOL, .since = MV_CONSUMES_QUOTA),
    SNAPSHOT(project_id, "os-extended-snapshot-attributes:project_id", TEXT,
             .rights = SEES_ATTRIBUTES),
    SNAPSHOT(progress,   "os-extended-snapshot-attributes:progress",   TEXT, NULLS,
             .rights = SEES_ATTRIBUTES),
    SHAPES_END,
};
const struct shape snapshot_shape = { "snapshot", snapshot_keys };

static const struct shape_key snapshot_short_keys[] = { SNAPSHOT_KEYS, SHAPES_END };
const struct shape snapshot_short_shape = { "snapshot_short", snapshot_short_keys };
/* clang-format on */

static void view(struct request *request, const void *row) {
    const struct snapshot *snapshot = row;
    bool sees_all = request_allows_row(request, "volume_extension:extended_snapshot_attributes",
                                       snapshot->project_id, snapshot->user_id);

    shape_put(request, &snapshot_shape, row, sees_all ? SEES_ATTRIBUTES : 0);
}

/* ---- metadata ---- */

static int set_metadata(struct work *work, const void *row, const struct pairs *pairs, bool merge,
                        struct error *err) {
    return snapshot_metadata_set(work, row, pairs, merge, err);
}

static int remove_metadata(struct work *work, const void *row, const char *key, struct error *err) {
    return snapshot_metadata_delete(work, row, key, err);
}

static const struct resource_metadata metadata = {
    .rows = &snapshot_metadata_rows,
    .no_slash = true,
    .set = set_metadata,
    .remove = remove_metadata,
};

const struct resource snapshot_resource = {
    .name = "snapshot",
    .plural = "snapshots",
    .collection = "snapshots",
    .label = "Snapshot",
    RESOURCE_ROW(struct snapshot),

    .load = load,
    .sees = "volume:get_snapshot",
    .sees_told = true,

    .table = "snapshots",
    .alias = "s",
    .columns = columns,
    .admin_sorts = admin_sorts,
    .default_sort = "created_at",
    .name_sorts_since = MV_SNAPSHOT_SORT_NAME,
    .links_word = "snapshots_links",
    .by_project = true,
    .counted = true,
    .large = true,
    .other_filter = "metadata",
    .filter = filter,
    .list = list,
    .view = view,
    .shape = &snapshot_shape,
    .short_shape = &snapshot_short_shape,

    .metadata = &metadata,
};
