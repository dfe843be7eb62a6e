#include "api/volume/resource.h"

#include "api/volume/view.h"
#include "rest/page_pairs.h"
#include "rest/route.h"

#include <string.h>

static void *load(struct request *request, const char *id, struct policy_target *ret_owner,
                  struct error *err) {
    struct volume *volume = arena_alloc(request->work.arena, sizeof(*volume));
    bool row_alone = request->route->flags & ROUTE_ROW_ALONE;

    if ((row_alone ? volume_get_row : volume_get)(&request->work, id, volume, err) < 0)
        return NULL;
    *ret_owner = (struct policy_target){ volume->project_id, volume->user_id };
    return volume;
}

/* ---- the list ---- */

/* clang-format off */
static const struct resource_column columns[] = {
    { "id",                  "v.id",                  COLUMN_TEXT,   false, 0 },
    { "name",                "v.display_name",        COLUMN_TEXT,   true,  0 },
    { "display_name",        "v.display_name",        COLUMN_TEXT,   false, 0 },
    { "description",         "v.display_description", COLUMN_TEXT,   false, 0 },
    { "display_description", "v.display_description", COLUMN_TEXT,   false, 0 },
    { "status",              "v.status",              COLUMN_STATUS, true,  0 },
    { "bootable",            "v.bootable",            COLUMN_BOOL,   true,  0 },
    { "migration_status",    "v.migration_status",    COLUMN_TEXT,   true,  0 },
    { "availability_zone",   "v.availability_zone",   COLUMN_FILLED, true,  0 },
    { "group_id",            "v.group_id",            COLUMN_TEXT,   true,  MV_GROUP_FILTER },
    { "size",                "v.size_gb",             COLUMN_INT,    true,  0 },
    { "created_at",          "v.created_at",          COLUMN_TIME,   true,  MV_STRICT_FILTERS },
    { "updated_at",          "v.updated_at",          COLUMN_TIME,   true,  MV_STRICT_FILTERS },
    { "consumes_quota",      "v.use_quota",           COLUMN_BOOL,   true,  MV_STRICT_FILTERS },
    { "use_quota",           "v.use_quota",           COLUMN_BOOL,   false, 0 },
    { "multiattach",         "v.multiattach",         COLUMN_BOOL,   false, 0 },
    { "shared_targets",      "v.shared_targets",      COLUMN_BOOL,   false, 0 },
    { "attach_status",       "v.attach_status",       COLUMN_TEXT,   false, 0 },
    { "replication_status",  "v.replication_status",  COLUMN_TEXT,   false, 0 },
    { "host",                "v.host",                COLUMN_TEXT,   false, 0 },
    { "cluster_name",        "v.cluster_name",        COLUMN_TEXT,   false, 0 },
    { "project_id",          "v.project_id",          COLUMN_TEXT,   false, 0 },
    { "user_id",             "v.user_id",             COLUMN_TEXT,   false, 0 },
    { "volume_type_id",      "v.volume_type_id",      COLUMN_TEXT,   false, 0 },
    { "snapshot_id",         "v.snapshot_id",         COLUMN_TEXT,   false, 0 },
    { "source_volid",        "v.source_volid",        COLUMN_TEXT,   false, 0 },
    { "encryption_key_id",   "v.encryption_key_id",   COLUMN_TEXT,   false, 0 },
    { "provider_id",         "v.provider_id",         COLUMN_TEXT,   false, 0 },
    { "provider_location",   "v.provider_location",   COLUMN_TEXT,   false, 0 },
    { "service_uuid",        "v.service_uuid",        COLUMN_TEXT,   false, 0 },
    { "launched_at",         "v.launched_at",         COLUMN_TIME,   false, 0 },
    { .name = NULL },
};
/* clang-format on */

static const char *const admin_sorts[] = { "host",         "cluster_name",      "provider_id",
                                           "service_uuid", "provider_location", NULL };

#define HAS_PAIR(table) PAGE_HAS_PAIR(table, "volume_id = v.id", "m.value = ?")

/* Hidden admin metadata cannot be probed by a filter either (R44). A key that they never have is
 * searched in the users' metadata. */
static void match_metadata(struct request *request, struct page *page, const struct pair *pair) {
    const struct db_value values[] = { DB_TEXT(pair->key), DB_TEXT(pair->value), DB_TEXT(pair->key),
                                       DB_TEXT(pair->value) };

    if (view_shows_admin_key(pair->key) ||
        (request->context.is_admin && view_is_admin_key(pair->key)))
        page_and(request, page,
                 "(" HAS_PAIR("volume_metadata") " OR " HAS_PAIR("volume_admin_metadata") ")",
                 values, 4);
    else
        page_sought_pair(request, page, &metadata_rows, pair);
}

static void match_image_metadata(struct request *request, struct page *page,
                                 const struct pair *pair) {
    const struct db_value values[] = { DB_TEXT(pair->key), DB_TEXT(pair->value) };

    page_and(request, page, HAS_PAIR("volume_glance_metadata"), values, 2);
}

static int filter(struct request *request, struct page *page, const char *key, const char *value,
                  struct error *err) {
    bool admin = request->context.is_admin;

    if (strcmp(key, "metadata") == 0)
        return page_filter_pairs(request, page, key, value, match_metadata, err);
    if (strcmp(key, "glance_metadata") == 0 && admin)
        return request->minor < MV_IMAGE_METADATA_FILTER
                   ? 1
                   : page_filter_pairs(request, page, key, value, match_image_metadata, err);
    if (strcmp(key, "host") == 0 && admin) {
        const char *pools = arena_format(request->work.arena, "%s#", value);
        const struct db_value values[] = { DB_TEXT(value), DB_INT(strlen(pools)), DB_TEXT(pools) };

        /* one without pool matches all its pools */
        page_and(request, page, "(v.host = ? OR substr(v.host, 1, CAST(? AS INTEGER)) = ?)", values,
                 3);
        return 1;
    }
    return 0;
}

/* A volume that is the target of a migration is hidden. */
static int narrow(struct request *request, struct page *page, struct error *err) {
    (void)err;
    if (!request->context.is_admin)
        page_and(request, page,
                 "(v.migration_status IS NULL OR v.migration_status NOT LIKE 'target:%')", NULL, 0);
    return 0;
}

RESOURCE_LIST(list, struct volume, volume_list)

static void view(struct request *request, const void *row) {
    if (!request->view) {
        request->view = arena_alloc(request->work.arena, sizeof(struct volume_view));
        view_open(request, true, request->view);
    }
    view_volume(request->view, row);
}

/* ---- metadata ---- */

static int set_metadata(struct work *work, const void *row, const struct pairs *pairs, bool merge,
                        struct error *err) {
    return volume_metadata_set(work, row, pairs, merge, err);
}

static int remove_metadata(struct work *work, const void *row, const char *key, struct error *err) {
    return volume_metadata_delete(work, row, key, err);
}

static const struct resource_metadata metadata = {
    .rows = &metadata_rows,
    .etags = true,
    .reserves = view_reserves_key,
    .set = set_metadata,
    .remove = remove_metadata,
};

const struct resource volume_resource = {
    .name = "volume",
    .plural = "volumes",
    .collection = "volumes",
    .label = "Volume",
    RESOURCE_ROW(struct volume),

    .load = load,
    .sees = "volume:get",

    .table = "volumes",
    .alias = "v",
    .columns = columns,
    .admin_sorts = admin_sorts,
    .default_sort = "created_at",
    .links_word = "volumes_links",
    .by_project = true,
    .counted = true,
    .large = true,
    .other_filter = "metadata",
    .filter = filter,
    .narrow = narrow,
    .list = list,
    .view = view,
    .shape = &volume_shape,
    .short_shape = &volume_short_shape,

    .metadata = &metadata,
};
