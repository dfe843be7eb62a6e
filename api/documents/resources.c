#include "api/documents/resources.h"

#include "api/documents/agent_instance.h"
#include "api/documents/watch.h"
#include "declared/document_own.h"
#include "rest/page.h"
#include "rest/page_pairs.h"

#include <string.h>

/* ---- one ---- */

const struct document_kind *document_kind_asked(const struct request *request) {
    const struct document_kind *const *kind = document_kinds;

    while (strcmp((*kind)->collection, request->route->resource->collection) != 0)
        kind++;
    return *kind;
}

static void *load(struct request *request, const char *id, struct policy_target *ret_owner,
                  struct error *err) {
    struct document *document = arena_alloc(request->work.arena, sizeof *document);

    if (document_find(&request->work, document_kind_asked(request), id, document, err) < 0)
        return NULL;
    ret_owner->project_id = document->project_id;
    return document;
}

static void put_version(struct request *request, const void *row) {
    (void)row;
    out_text(&request->out, DOCUMENT_API_VERSION);
}

static void put_kind(struct request *request, const void *row) {
    out_text(&request->out, ((const struct document *)row)->kind->name);
}

static void put_metadata(struct request *request, const void *row) {
    struct document document = *(const struct document *)row;

    document.name = document_name_shown(row, request->context.is_admin);
    out_value(&request->out, document_metadata(request->work.arena, &document));
}

static void put_spec(struct request *request, const void *row) {
    const json_t *body = document_body_shown(request->work.arena, row, request->context.is_admin);

    out_value(&request->out, json_object_get(body, "spec"));
}

static void put_publish(struct request *request, const void *row) {
    out_value(&request->out, json_object_get(((const struct document *)row)->body, "publish"));
}

static void put_status(struct request *request, const void *row) {
    out_value(&request->out,
              document_status_shown(request->work.arena, row, request->context.is_admin));
}

static bool has_details(const void *row) {
    return json_object_get(((const struct document *)row)->body, "versionDetails") != NULL;
}

static void put_details(struct request *request, const void *row) {
    out_value(&request->out,
              json_object_get(((const struct document *)row)->body, "versionDetails"));
}

/* clang-format off */
#define ANY(put_, key, ...) SHAPE_BY(put_, key, OBJECT, .of = &shape_any, __VA_ARGS__)
#define HEAD \
    SHAPE_BY(put_version, "apiVersion", TEXT), SHAPE_BY(put_kind, "kind", TEXT), \
    ANY(put_metadata, "metadata"), ANY(put_spec, "spec")

static const struct shape_key keys[] = { HEAD, ANY(put_status, "status"), SHAPES_END };
static const struct shape_key config_keys[] = {
    HEAD,
    ANY(put_publish, "publish"),
    ANY(put_status,  "status"),
    ANY(put_details, "versionDetails", .has = has_details),
    SHAPES_END,
};
/* clang-format on */
const struct shape volume_policy_shape = { "volume_policy", keys };
const struct shape volume_config_shape = { "volume_config", config_keys };
const struct shape replicated_volume_shape = { "replicated_volume", keys };
const struct shape volume_replica_shape = { "volume_replica", keys };
const struct shape volume_config_snapshot_shape = { "volume_config_snapshot", keys };

/* ---- many ---- */

/* clang-format off */
#define COLUMNS(name_for_all) \
    { "name",       "d.name",       COLUMN_FILLED, name_for_all, 0 }, \
    { "id",         "d.id",         COLUMN_FILLED, false, 0 }, \
    { "created_at", "d.created_at", COLUMN_TIME,   false, 0 }

static const struct resource_column columns[] = { COLUMNS(true), { .name = NULL } };
static const struct resource_column node_columns[] = {
    COLUMNS(true), { "node", "d.node", COLUMN_TEXT, false, 0 }, { .name = NULL },
};
/* The names of their columns are those of pools. */
static const struct resource_column replica_columns[] = {
    COLUMNS(false), { "node", "d.node", COLUMN_TEXT, false, 0 }, { .name = NULL },
};
/* clang-format on */
static const char *const replica_admin_sorts[] = { "name", "node", NULL };

static void match_label(struct request *request, struct page *page, const struct pair *pair) {
    page_sought_pair(request, page, &document_label_rows, pair);
}

static int filter(struct request *request, struct page *page, const char *key, const char *value,
                  struct error *err) {
    const struct db_value node = DB_TEXT(value);

    if (strcmp(key, "labels") == 0)
        return page_filter_pairs(request, page, key, value, match_label, err);
    if (strcmp(key, "node") != 0 || !page->resource->all_by || !request->context.is_admin)
        return 0;
    if (agent_instance_check(request, value, err) < 0)
        return -1;
    page_and(request, page, "d.node = ?", &node, 1);
    return 1;
}

static int narrow(struct request *request, struct page *page, struct error *err) {
    const struct db_value kind = DB_TEXT(document_kind_asked(request)->name);

    (void)err;
    page_and(request, page, "d.kind = ?", &kind, 1);
    return 0;
}

static int watch(struct request *request, struct error *err) {
    return document_watch(request, document_kind_asked(request), err);
}

RESOURCE_LIST(list, struct document, document_list)

/* clang-format off */
#define DOCUMENTS(word_, collection_, label_, shape_) \
    .name = word_, .plural = collection_, .collection = collection_, .label = label_, \
    RESOURCE_ROW(struct document), .load = load, .table = "documents", .alias = "d", \
    .default_sort = "created_at", .links_word = collection_ "_links", .by_project = true, \
    .large = true, .filter = filter, .other_filter = "labels", .narrow = narrow, .list = list, \
    .watch = watch, .version = document_last_version, \
    .shape = &(shape_)

const struct resource volume_policy_resource = {
    DOCUMENTS("volume_policy", "volume_policies", "Volume policy", volume_policy_shape),
    .columns = columns,
};
const struct resource volume_config_resource = {
    DOCUMENTS("volume_config", "volume_configs", "Volume config", volume_config_shape),
    .columns = columns,
};
const struct resource volume_config_snapshot_resource = {
    DOCUMENTS("volume_config_snapshot", "volume_config_snapshots", "Volume config snapshot",
              volume_config_snapshot_shape),
    .columns = columns,
};
const struct resource replicated_volume_resource = {
    DOCUMENTS("replicated_volume", "replicated_volumes", "Replicated volume", replicated_volume_shape),
    .columns = node_columns, .all_by = "node",
};
const struct resource volume_replica_resource = {
    DOCUMENTS("volume_replica", "volume_replicas", "Volume replica", volume_replica_shape),
    .columns = replica_columns, .admin_sorts = replica_admin_sorts, .all_by = "node",
};
/* clang-format on */
