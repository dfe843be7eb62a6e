/*
 * What volumes are declared to be like: documents of provision/, wrapped as the objects of this API
 * are.  {id} in a path is a name or a uid.
 */
#include "api/answer.h"
#include "api/page.h"
#include "api/page_pairs.h"
#include "api/routes.h"
#include "provision/document_edit.h"

#include <string.h>

/* ---- one ---- */

static void *load(struct request *request, const char *id, struct policy_target *ret_owner,
                  struct error *err) {
    struct document *document = arena_alloc(request->work.arena, sizeof *document);

    if (document_find(&request->work, &kind_volume_policy, id, document, err) < 0)
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
    out_value(&request->out, json_object_get(((const struct document *)row)->body, "spec"));
}

static void put_status(struct request *request, const void *row) {
    out_value(&request->out, ((const struct document *)row)->status);
}

/* clang-format off */
static const struct shape_key keys[] = {
    SHAPE_BY(put_version,  "apiVersion", TEXT),
    SHAPE_BY(put_kind,     "kind",       TEXT),
    SHAPE_BY(put_metadata, "metadata",   OBJECT, .of = &shape_any),
    SHAPE_BY(put_spec,     "spec",       OBJECT, .of = &shape_any),
    SHAPE_BY(put_status,   "status",     OBJECT, .of = &shape_any),
    SHAPES_END,
};
/* clang-format on */
static const struct shape shape = { "volume_policy", keys };

static void view(struct request *request, const void *row, bool detail) {
    (void)detail;
    shape_put(request, &shape, row, 0);
}

/* ---- many ---- */

/* clang-format off */
static const struct resource_column columns[] = {
    { "name",       "d.name",       COLUMN_FILLED, true,  0 },
    { "id",         "d.id",         COLUMN_FILLED, false, 0 },
    { "created_at", "d.created_at", COLUMN_TIME,   false, 0 },
    { .name = NULL },
};
/* clang-format on */

static void match_label(struct request *request, struct page *page, const struct pair *pair) {
    page_sought_pair(request, page, &document_label_rows, pair);
}

static int filter(struct request *request, struct page *page, const char *key, const char *value,
                  struct error *err) {
    return strcmp(key, "labels") == 0
               ? page_filter_pairs(request, page, key, value, match_label, err)
               : 0;
}

static int narrow(struct request *request, struct page *page, struct error *err) {
    const struct db_value kind = DB_TEXT(kind_volume_policy.name);

    (void)err;
    page_and(request, page, "d.kind = ?", &kind, 1);
    return 0;
}

static int list(struct request *request, struct page *page, struct error *err) {
    struct document *documents = NULL;
    int count = document_list(&request->work, &page->query, &documents, err);

    page->rows = documents;
    return count;
}

static const struct resource resource = {
    .name = "volume_policy",
    .plural = "volume_policies",
    .collection = "volume_policies",
    .label = "Volume policy",
    RESOURCE_ROW(struct document),

    .load = load,

    .table = "documents",
    .alias = "d",
    .columns = columns,
    .default_sort = "created_at",
    .links_word = "volume_policies_links",
    .by_project = true,
    .large = true,
    .filter = filter,
    .other_filter = "labels",
    .narrow = narrow,
    .list = list,
    .view = view,
    .shape = &shape,
};

/* ---- changes ---- */

/* Told for the description of the API; the kind of the document has the rest (provision/kind.h). */
struct document_body {
    const char *api_version, *kind;
    const json_t *metadata, *spec, *status;
};

#define DOCUMENT_FIELDS(required)                                                        \
    FIELD_TEXT(struct document_body, api_version, "apiVersion", FIELD_NULLABLE, 0, 255), \
        FIELD_TEXT(struct document_body, kind, "kind", FIELD_NULLABLE, 0, 255),          \
        FIELD_OBJECT(struct document_body, metadata, "metadata", required),              \
        FIELD_OBJECT(struct document_body, spec, "spec", required),                      \
        FIELD_ANY(struct document_body, status, "status", 0), FIELDS_END

/* Everything is checked, and nothing is changed. */
static const struct route_query change_queries[] = { { "dry_run", 0, true }, { NULL, 0, false } };

static const struct field whole_fields[] = { DOCUMENT_FIELDS(FIELD_REQUIRED) };
static const struct field patch_fields[] = { DOCUMENT_FIELDS(0) };

static int create_policy(struct request *request, struct error *err) {
    struct document document;
    bool tries = false;

    if (request_flag(request, "dry_run", &tries, err) < 0 ||
        document_create(&request->work, &kind_volume_policy, request->json, tries, &document, err) <
            0)
        return -1;
    answer_row(request, &document, 0);
    return 0;
}

static int replace_policy(struct request *request, struct error *err) {
    struct document document;
    bool tries = false;

    if (request_flag(request, "dry_run", &tries, err) < 0 ||
        document_replace(&request->work, request->object, request->json, tries, &document, err) < 0)
        return -1;
    answer_row(request, &document, 0);
    return 0;
}

static int patch_policy(struct request *request, struct error *err) {
    struct document document;
    bool tries = false;

    if (request_flag(request, "dry_run", &tries, err) < 0 ||
        document_patch(&request->work, request->object, request->json, tries, &document, err) < 0)
        return -1;
    answer_row(request, &document, 0);
    return 0;
}

static int delete_policy(struct request *request, struct error *err) {
    struct document document;
    bool tries = false;

    if (request_flag(request, "dry_run", &tries, err) < 0 ||
        document_delete(&request->work, request->object, tries, &document, err) < 0)
        return -1;
    if (json_array_size(document.finalizers) > 0)
        request->status = request->route->status_later;
    return 0;
}

/* clang-format off */
const struct route volume_policy_routes[] = {
    { .method = "GET", .path = "/volume_policies", .resource = &resource,
      .rule = "volume_policy:get_all", .handler = resource_list, .status = 200 },
    { .method = "POST", .path = "/volume_policies", .rule = "volume_policy:create",
      .wrapper = "volume_policy", BODY(whole_fields, struct document_body),
      .queries = change_queries, .handler = create_policy, .status = 201,
      ANSWER("volume_policy", shape) },
    { .method = "GET", .path = "/volume_policies/{id}", .resource = &resource,
      .rule = "volume_policy:get", .handler = resource_show, .status = 200 },
    { .method = "PUT", .path = "/volume_policies/{id}", .resource = &resource,
      .rule = "volume_policy:update", .wrapper = "volume_policy",
      BODY(whole_fields, struct document_body), .queries = change_queries,
      .handler = replace_policy, .status = 200, ANSWER("volume_policy", shape) },
    { .method = "PATCH", .path = "/volume_policies/{id}", .resource = &resource,
      .rule = "volume_policy:update", .wrapper = "volume_policy",
      BODY(patch_fields, struct document_body), .queries = change_queries,
      .handler = patch_policy, .status = 200, ANSWER("volume_policy", shape) },
    { .method = "DELETE", .path = "/volume_policies/{id}", .resource = &resource,
      .rule = "volume_policy:delete", .queries = change_queries, .handler = delete_policy,
      .status = 204, .status_later = 202, .flags = ROUTE_BARE },
    ROUTES_END,
};
/* clang-format on */
