#include "api/documents.h"

#include "api/answer.h"
#include "api/document_watch.h"
#include "api/page.h"
#include "api/page_pairs.h"
#include "provision/document_edit.h"
#include "provision/document_own.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- one ---- */

const struct document_kind *document_kind_of(const struct resource *resource) {
    for (const struct document_kind *const *kind = document_kinds; *kind; kind++)
        if (resource && strcmp((*kind)->collection, resource->collection) == 0)
            return *kind;
    return NULL;
}

static const struct document_kind *kind_of(const struct request *request) {
    return document_kind_of(request->route->resource);
}

static void *load(struct request *request, const char *id, struct policy_target *ret_owner,
                  struct error *err) {
    struct document *document = arena_alloc(request->work.arena, sizeof *document);

    if (document_find(&request->work, kind_of(request), id, document, err) < 0)
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
    out_value(&request->out, document_metadata(request->work.arena, row));
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
static const struct shape policy_shape = { "volume_policy", keys };
static const struct shape config_shape = { "volume_config", config_keys };
static const struct shape volume_shape = { "replicated_volume", keys };
static const struct shape replica_shape = { "volume_replica", keys };
static const struct shape snapshot_shape = { "volume_config_snapshot", keys };

static void view(struct request *request, const void *row, bool detail) {
    (void)detail;
    shape_put(request, request->route->resource->shape, row, 0);
}

/* ---- many ---- */

/* clang-format off */
#define COLUMNS \
    { "name",       "d.name",       COLUMN_FILLED, true,  0 }, \
    { "id",         "d.id",         COLUMN_FILLED, false, 0 }, \
    { "created_at", "d.created_at", COLUMN_TIME,   false, 0 }

static const struct resource_column columns[] = { COLUMNS, { .name = NULL } };
static const struct resource_column node_columns[] = {
    COLUMNS, { "node", "d.node", COLUMN_TEXT, false, 0 }, { .name = NULL },
};
/* clang-format on */

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
    page_and(request, page, "d.node = ?", &node, 1);
    return 1;
}

static int narrow(struct request *request, struct page *page, struct error *err) {
    const struct db_value kind = DB_TEXT(kind_of(request)->name);

    (void)err;
    page_and(request, page, "d.kind = ?", &kind, 1);
    return 0;
}

static int watch(struct request *request, struct error *err) {
    return document_watch(request, kind_of(request), err);
}

static int list(struct request *request, struct page *page, struct error *err) {
    struct document *documents = NULL;
    int count = document_list(&request->work, &page->query, &documents, err);

    page->rows = documents;
    return count;
}

/* clang-format off */
#define DOCUMENTS(word_, collection_, label_, shape_) \
    .name = word_, .plural = collection_, .collection = collection_, .label = label_, \
    RESOURCE_ROW(struct document), .load = load, .table = "documents", .alias = "d", \
    .default_sort = "created_at", .links_word = collection_ "_links", .by_project = true, \
    .large = true, .filter = filter, .other_filter = "labels", .narrow = narrow, .list = list, \
    .watch = watch, \
    .view = view, .shape = &(shape_)

const struct resource volume_policy_resource = {
    DOCUMENTS("volume_policy", "volume_policies", "Volume policy", policy_shape),
    .columns = columns,
};
const struct resource volume_config_resource = {
    DOCUMENTS("volume_config", "volume_configs", "Volume config", config_shape),
    .columns = columns,
};
const struct resource volume_config_snapshot_resource = {
    DOCUMENTS("volume_config_snapshot", "volume_config_snapshots", "Volume config snapshot",
              snapshot_shape),
    .columns = columns,
};
const struct resource replicated_volume_resource = {
    DOCUMENTS("replicated_volume", "replicated_volumes", "Replicated volume", volume_shape),
    .columns = node_columns, .all_by = "node",
};
const struct resource volume_replica_resource = {
    DOCUMENTS("volume_replica", "volume_replicas", "Volume replica", replica_shape),
    .columns = node_columns, .all_by = "node",
};
/* clang-format on */

/* ---- changes ---- */

/* Told for the description of the API; the kind of the document has the rest (provision/kind.h). */
struct document_body {
    const char *api_version, *kind;
    const json_t *metadata, *spec, *publish, *details, *status;
};

#define DOCUMENT_FIELDS(required)                                                        \
    FIELD_TEXT(struct document_body, api_version, "apiVersion", FIELD_NULLABLE, 0, 255), \
        FIELD_TEXT(struct document_body, kind, "kind", FIELD_NULLABLE, 0, 255),          \
        FIELD_OBJECT(struct document_body, metadata, "metadata", required),              \
        FIELD_OBJECT(struct document_body, spec, "spec", required),                      \
        FIELD_ANY(struct document_body, status, "status", 0)
#define CONFIG_FIELDS(required)                                                        \
    DOCUMENT_FIELDS(required), FIELD_ANY(struct document_body, publish, "publish", 0), \
        FIELD_ANY(struct document_body, details, "versionDetails", 0)

/* Everything is checked, and nothing is changed. */
static const struct route_query change_queries[] = { { "dry_run", 0, true }, { NULL, 0, false } };
static const struct route_query delete_queries[] = { { "dry_run", 0, true },
                                                     { "resourceVersion", 0, false },
                                                     { NULL, 0, false } };

static const struct field whole_fields[] = { DOCUMENT_FIELDS(FIELD_REQUIRED), FIELDS_END };
static const struct field patch_fields[] = { DOCUMENT_FIELDS(0), FIELDS_END };
static const struct field config_whole_fields[] = { CONFIG_FIELDS(FIELD_REQUIRED), FIELDS_END };
static const struct field config_patch_fields[] = { CONFIG_FIELDS(0), FIELDS_END };

static int create(struct request *request, struct error *err) {
    struct document document;
    bool tries = false;

    if (request_flag(request, "dry_run", &tries, err) < 0 ||
        document_create(&request->work, kind_of(request), request->json, tries, &document, err) < 0)
        return -1;
    answer_row(request, &document, 0);
    return 0;
}

static int replace(struct request *request, struct error *err) {
    struct document document;
    bool tries = false;

    if (request_flag(request, "dry_run", &tries, err) < 0 ||
        document_replace(&request->work, request->object, request->json, tries, &document, err) < 0)
        return -1;
    answer_row(request, &document, 0);
    return 0;
}

static int patch(struct request *request, struct error *err) {
    struct document document;
    bool tries = false;

    if (request_flag(request, "dry_run", &tries, err) < 0 ||
        document_patch(&request->work, request->object, request->json, tries, &document, err) < 0)
        return -1;
    answer_row(request, &document, 0);
    return 0;
}

/* Who names a version deletes that and no later one. */
static int check_version(const struct request *request, struct error *err) {
    const char *version = request_query(request, "resourceVersion");
    const struct document *document = request->object;
    char now[24];

    snprintf(now, sizeof now, "%" PRId64, document->version);
    if (!version || strcmp(version, now) == 0)
        return 0;
    return error_set(err, ERROR_CONFLICT,
                     "resourceVersion: %s %s was changed meanwhile; read it again.",
                     document->kind->label, document->name);
}

static int delete_one(struct request *request, struct error *err) {
    struct document document;
    bool tries = false;

    if (request_flag(request, "dry_run", &tries, err) < 0 || check_version(request, err) < 0 ||
        document_delete(&request->work, request->object, tries, &document, err) < 0)
        return -1;
    if (json_array_size(document.finalizers) > 0)
        request->status = request->route->status_later;
    return 0;
}

/* ---- what nodes say ---- */

struct status_put {
    const char *node;
    const json_t *status;
};

static const struct field status_put_fields[] = {
    FIELD_TEXT(struct status_put, node, "nodeId", FIELD_REQUIRED, 1, 255),
    FIELD_OBJECT(struct status_put, status, "status", FIELD_REQUIRED),
    FIELDS_END,
};

static int put_node_status(struct request *request, struct error *err) {
    const struct status_put *body = request->body;
    struct document document;

    if (document_status_put(&request->work, request->object, body->node, body->status, &document,
                            err) < 0)
        return -1;
    answer_row(request, &document, 0);
    return 0;
}

/* ---- what a config has become ---- */

/* Its volume: how many there are, or -1. */
static int find_volume(struct request *request, struct document **ret, struct error *err) {
    const struct document *config = request->object;

    return document_owned(&request->work, config->id, &kind_replicated_volume, ret, err);
}

static int show_volume(struct request *request, struct error *err) {
    const struct document *config = request->object;
    struct document *volume;
    int found = find_volume(request, &volume, err);

    if (error_if_none(found, err, ERROR_NOT_FOUND, "Volume config %s has no volume yet.",
                      config->name) < 0)
        return -1;
    answer_row(request, volume, 0);
    return 0;
}

static int list_replicas(struct request *request, struct error *err) {
    struct document *volume, *replicas = NULL;
    int count = find_volume(request, &volume, err);

    if (count > 0)
        count = document_owned(&request->work, volume->id, &kind_volume_replica, &replicas, err);
    if (count < 0)
        return -1;
    answer_rows(request, replicas, (unsigned)count, sizeof *replicas, 0);
    return 0;
}

static void put_first(struct request *request, const void *row) {
    const struct document_event *event = row;

    out_text(&request->out, document_time(request->work.arena, event->first_at));
}

static void put_last(struct request *request, const void *row) {
    const struct document_event *event = row;

    out_text(&request->out, document_time(request->work.arena, event->last_at));
}

static const struct shape_key event_keys[] = {
    SHAPE(struct document_event, type, "type", TEXT),
    SHAPE(struct document_event, reason, "reason", TEXT),
    SHAPE(struct document_event, message, "message", TEXT),
    SHAPE(struct document_event, times, "count", INT),
    SHAPE_BY(put_first, "firstTimestamp", TEXT),
    SHAPE_BY(put_last, "lastTimestamp", TEXT),
    SHAPES_END,
};
static const struct shape event_shape = { "document_event", event_keys };

static int list_events(struct request *request, struct error *err) {
    const struct document *config = request->object;
    struct document_event *events;
    int count = document_events(&request->work, config->id, &events, err);

    if (count < 0)
        return -1;
    answer_rows(request, events, (unsigned)count, sizeof *events, 0);
    return 0;
}

/* ---- rows ---- */

/* clang-format off */
#define READS(word_, collection_, resource_) \
    { .method = "GET", .path = "/" collection_, .resource = &(resource_), \
      .rule = word_ ":get_all", .handler = resource_list, .status = 200 }, \
    { .method = "GET", .path = "/" collection_ "/{id}", .resource = &(resource_), \
      .rule = word_ ":get", .handler = resource_show, .status = 200 }
#define CHANGE(method_, path_, word_, rule_, resource_, fields_, shape_, handler_, status_) \
    { .method = method_, .path = path_, .resource = &(resource_), .rule = word_ ":" rule_, \
      .wrapper = word_, BODY(fields_, struct document_body), .queries = change_queries, \
      .handler = handler_, .status = status_, ANSWER(word_, shape_) }
#define CHANGES(word_, collection_, resource_, shape_, whole_, patch_) \
    CHANGE("POST", "/" collection_, word_, "create", resource_, whole_, shape_, create, 201), \
    CHANGE("PUT", "/" collection_ "/{id}", word_, "update", resource_, whole_, shape_, replace, 200), \
    CHANGE("PATCH", "/" collection_ "/{id}", word_, "update", resource_, patch_, shape_, patch, 200), \
    { .method = "DELETE", .path = "/" collection_ "/{id}", .resource = &(resource_), \
      .rule = word_ ":delete", .queries = delete_queries, .handler = delete_one, \
      .status = 204, .status_later = 202, .flags = ROUTE_BARE }
#define OF_CONFIG(name_, handler_, answer_, shape_, flags_) \
    { .method = "GET", .path = "/volume_configs/{id}/" name_, .resource = &volume_config_resource, \
      .rule = "volume_config:get", .handler = handler_, .status = 200, ANSWER(answer_, shape_), \
      .flags = flags_ }
#define STATUS(word_, collection_, resource_, shape_) \
    { .method = "PUT", .path = "/" collection_ "/{id}/status", .resource = &(resource_), \
      .rule = word_ ":update_status", BODY(status_put_fields, struct status_put), \
      .flags = ROUTE_NO_WRAPPER, .handler = put_node_status, .status = 200, ANSWER(word_, shape_) }

const struct route document_routes[] = {
    READS("volume_policy", "volume_policies", volume_policy_resource),
    CHANGES("volume_policy", "volume_policies", volume_policy_resource, policy_shape, whole_fields,
            patch_fields),
    READS("volume_config", "volume_configs", volume_config_resource),
    CHANGES("volume_config", "volume_configs", volume_config_resource, config_shape,
            config_whole_fields, config_patch_fields),
    OF_CONFIG("volume",   show_volume,   "replicated_volume", volume_shape,  0),
    OF_CONFIG("replicas", list_replicas, "volume_replicas",   replica_shape, ROUTE_MANY),
    OF_CONFIG("events",   list_events,   "events",            event_shape,   ROUTE_MANY),
    READS("volume_config_snapshot", "volume_config_snapshots", volume_config_snapshot_resource),
    CHANGES("volume_config_snapshot", "volume_config_snapshots", volume_config_snapshot_resource,
            snapshot_shape, whole_fields, patch_fields),
    READS("replicated_volume", "replicated_volumes", replicated_volume_resource),
    STATUS("replicated_volume", "replicated_volumes", replicated_volume_resource, volume_shape),
    READS("volume_replica", "volume_replicas", volume_replica_resource),
    STATUS("volume_replica", "volume_replicas", volume_replica_resource, replica_shape),
    ROUTES_END,
};
/* clang-format on */
