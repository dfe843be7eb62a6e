/*
 * Existing storage: managed, unmanaged, and listed.  Each route has its original name, and its name
 * since 3.8.
 */
#include "api/attachment/connect.h"
#include "api/routes.h"
#include "api/snapshot/resource.h"
#include "api/volume/resource.h"
#include "api/volume/view.h"
#include "common/words.h"
#include "model/scheduler/pool.h"
#include "model/snapshot/manage.h"
#include "model/volume/manage.h"
#include "model/volume/manageable.h"
#include "rest/answer.h"
#include "rest/metadata.h"

#include <string.h>

/* ---- reference ---- */

/* {"source-name": …}, or the bare name. */
static int read_reference(const json_t *reference, const char **ret, struct error *err) {
    const json_t *name =
        json_is_object(reference) ? json_object_get(reference, "source-name") : reference;

    if (json_is_string(name) && *json_string_value(name) &&
        strlen(json_string_value(name)) <= 4096) {
        *ret = json_string_value(name);
        return 0;
    }
    return error_set(err, ERROR_BAD_REQUEST,
                     "Invalid input for field/attribute ref: it must have a source-name.");
}

/* No backend of this service belongs to a cluster. */
static int read_host(const char *host, const char *cluster, const char **ret, struct error *err) {
    if (host && cluster)
        return error_set(err, ERROR_BAD_REQUEST, "Only one of host and cluster can be given.");
    if (cluster)
        return error_set(err, ERROR_BAD_REQUEST, "There is no cluster '%.255s'.", cluster);
    if (!host)
        return error_set(err, ERROR_BAD_REQUEST, "Missing required element 'host'.");
    *ret = host;
    return 0;
}

/* ---- manage ---- */

struct manage_body {
    const json_t *reference;
    const char *host, *cluster, *name, *description, *type, *availability_zone;
    const json_t *metadata;
    bool bootable;
};

/* clang-format off */
static const struct field manage_fields[] = {
    FIELD_ANY(struct manage_body, reference, "ref", FIELD_REQUIRED),
    FIELD_HOST(struct manage_body, host, "host", 0),
    { .name = "cluster", .type = FIELD_TYPE_TEXT, .flags = FIELD_NULLABLE, .min = 1, .max = 255,
      .offset = offsetof(struct manage_body, cluster), .since = MV_CLUSTER_MIGRATION },
    FIELD_NAME0(struct manage_body, name, "name", 0),
    FIELD_NAMET(struct manage_body, description, "description", 0),
    FIELD_NAME0(struct manage_body, type, "volume_type", 0),
    FIELD_NAME0(struct manage_body, availability_zone, "availability_zone", 0),
    FIELD_META(struct manage_body, metadata, "metadata", FIELD_NULLABLE),
    FIELD_BOOL(struct manage_body, bootable, "bootable", 0),
    FIELDS_END,
};
/* clang-format on */

/* A slower backend is not awaited: the status shows the result. */
#define ASK_MS 10000

static int read_existing(struct request *request, struct volume_existing *ret, struct error *err) {
    const struct manage_body *body = request->body;

    *ret = (struct volume_existing){
        .name = text_or_null(body->name),
        .description = body->description,
        .type = text_or_null(body->type),
        .availability_zone = text_or_null(body->availability_zone),
        .metadata = request_pairs(request, body->metadata),
        .bootable = body->bootable,
    };
    if (read_reference(body->reference, &ret->source_name, err) < 0 ||
        read_host(body->host, body->cluster, &ret->host, err) < 0)
        return -1;
    return metadata_check(&volume_resource, &ret->metadata, err);
}

static int ask_for_volume(struct request *request, struct error *err) {
    struct volume_existing existing;
    struct manageable_one one;
    struct pool pool;

    request->wait_project = request->context.project_id;
    request->wait_ms = ASK_MS;
    if (read_existing(request, &existing, err) < 0 ||
        volume_manage_check(&request->work, &existing, &one, &pool, err) < 0)
        return -1;
    return manageable_probe(&request->work, &pool, &one, &request->wait_operation, err);
}

static int manage_volume(struct request *request, struct error *err) {
    struct volume_existing existing;
    struct volume volume;

    if (read_existing(request, &existing, err) < 0 ||
        manageable_check_answer(&request->work, request->wait_operation, existing.source_name,
                                err) < 0 ||
        volume_manage(&request->work, &existing, &volume, err) < 0)
        return -1;
    if (volume.multiattach && request_authorize(request, "volume:multiattach", NULL, err) < 0)
        return -1; /* rolls back the new row */
    answer_row(request, &volume, 0);
    return 0;
}

static int unmanage_volume(struct request *request, struct error *err) {
    return volume_unmanage(&request->work, request->object, err);
}

/* ---- list ---- */

struct manageable {
    const char *source_name, *refusal;
    const char *id;              /* of an object managed already */
    const char *of_id, *of_name; /* of a snapshot: its volume, if known */
    int64_t size_gb;
    bool safe;
};

/* Empty when it has no name. */
static void put_named(struct request *request, const char *key, const char *name) {
    out_begin_object(&request->out);
    if (name) {
        out_key_text(&request->out, key);
        out_text(&request->out, name);
    }
    out_end_object(&request->out);
}

static void put_reference(struct request *request, const void *row) {
    put_named(request, "source-name", ((const struct manageable *)row)->source_name);
}

static void put_source_reference(struct request *request, const void *row) {
    const struct manageable *manageable = row;

    put_named(request, manageable->of_name ? "source-name" : "source-id",
              manageable->of_name ? manageable->of_name : manageable->of_id);
}

/* clang-format off */
#define MANAGEABLE_KEYS \
    SHAPE_BY(put_reference, "reference", OBJECT, .of = &shape_any), \
    SHAPE(struct manageable, size_gb, "size", INT), \
    SHAPE(struct manageable, safe, "safe_to_manage", BOOL)

#define MANAGEABLE_DETAILS \
    SHAPE(struct manageable, refusal, "reason_not_safe", TEXT, .flags = SHAPE_NULLABLE), \
    SHAPE(struct manageable, id,      "cinder_id",       TEXT, .flags = SHAPE_NULLABLE), \
    { SHAPE_KEY("extra_info", NULL) }
#define SNAPSHOT_KEYS \
    MANAGEABLE_KEYS, \
    SHAPE_BY(put_source_reference, "source_reference", OBJECT, .of = &shape_any)

static const struct shape_key short_keys[] = { MANAGEABLE_KEYS, SHAPES_END };
static const struct shape short_shape = { "manageable_volume_short", short_keys };
static const struct shape_key detail_keys[] = { MANAGEABLE_KEYS, MANAGEABLE_DETAILS, SHAPES_END };
static const struct shape detail_shape = { "manageable_volume", detail_keys };
static const struct shape_key snapshot_keys[] = { SNAPSHOT_KEYS, SHAPES_END };
static const struct shape snapshot_shape_short = { "manageable_snapshot_short", snapshot_keys };
static const struct shape_key snapshot_detail_keys[] = {
    SNAPSHOT_KEYS, MANAGEABLE_DETAILS, SHAPES_END,
};
static const struct shape snapshot_shape_detail = { "manageable_snapshot", snapshot_detail_keys };
/* clang-format on */

static int refuse_query(const char *name, const char *value, struct error *err) {
    return error_set(err, ERROR_BAD_REQUEST, "Invalid %s: '%.255s'.", name, value);
}

static int read_number(struct request *request, const char *name, int64_t most, int64_t *ret,
                       struct error *err) {
    const char *text = request_query(request, name);
    int64_t value;

    if (!text)
        return 0;
    if (!json_digits(text, &value))
        return refuse_query(name, text, err);
    *ret = value < most ? value : most;
    return 0;
}

/* "key[:dir]"; the older pair of parameters is equivalent. */
static int read_sort(struct request *request, struct manageable_page *ret, struct error *err) {
    const char *sort = request_query(request, "sort");
    const char *key = request_query(request, "sort_key");
    const char *direction = request_query(request, "sort_dir");
    size_t length = sort ? strcspn(sort, ":") : 0;

    if (sort && (key || direction))
        return error_set(err, ERROR_BAD_REQUEST,
                         "The 'sort_key' and 'sort_dir' parameters are deprecated and cannot be "
                         "used with the 'sort' parameter.");
    if (sort) {
        key = arena_text_n(request->work.arena, sort, length);
        direction = sort[length] ? sort + length + 1 : NULL;
    }
    if (key && strcmp(key, "size") != 0 && strcmp(key, "reference") != 0)
        return refuse_query("sort key", key, err);
    if (direction && strcmp(direction, "asc") != 0 && strcmp(direction, "desc") != 0)
        return refuse_query("sort direction", direction, err);
    ret->by_size = key && strcmp(key, "size") == 0;
    ret->descending = !direction || strcmp(direction, "desc") == 0;
    return 0;
}

static int ask(struct request *request, bool snapshots, struct error *err) {
    const char *cluster =
        request->minor >= MV_CLUSTER_MANAGEABLE ? request_query(request, "cluster") : NULL;
    struct manageable_page page = { .limit = request->work.settings->max_limit };
    const json_t *reference = NULL;
    const char *host;

    if (read_host(request_query(request, "host"), cluster, &host, err) < 0 ||
        read_number(request, "limit", page.limit, &page.limit, err) < 0 ||
        read_number(request, "offset", INT64_MAX, &page.offset, err) < 0 ||
        read_sort(request, &page, err) < 0)
        return -1;
    /* in the form of a list: the reference, or the bare name */
    page.marker = request_query(request, "marker");
    if (page.marker)
        reference = json_parse(request->work.arena, page.marker, strlen(page.marker), NULL);
    if (json_is_object(reference) && read_reference(reference, &page.marker, err) < 0)
        return -1;
    page.snapshots = snapshots;
    request->wait_project = request->context.project_id;
    return manageable_request(&request->work, host, &page, &request->wait_operation, err);
}

static int list_volumes(struct request *request, struct error *err) {
    return ask(request, false, err);
}

static int list_snapshots(struct request *request, struct error *err) {
    return ask(request, true, err);
}

static int manageable_listed(struct request *request, struct error *err) {
    const json_t *answer;
    struct manageable *rows;
    size_t count;
    int answered = connect_read_answer(request, &answer, err);

    if (answered <= 0)
        return answered < 0
                   ? -1
                   : error_set(err, ERROR_TRY_LATER, "The response of the backend is lost.");
    answer = json_object_get(answer, "manageable");
    count = json_array_size(answer);
    rows = arena_alloc(request->work.arena, (count + 1) * sizeof *rows);
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(answer, i);

        rows[i] = (struct manageable){
            .source_name = json_string_value(json_object_get(item, "name")),
            .refusal = json_string_value(json_object_get(item, "refusal")),
            .id = json_string_value(json_object_get(item, "id")),
            .of_id = json_string_value(json_object_get(item, "of_id")),
            .of_name = json_string_value(json_object_get(item, "of_name")),
            .size_gb = json_integer_value(json_object_get(item, "size")),
            .safe = json_is_true(json_object_get(item, "safe")),
        };
    }
    answer_rows(request, rows, (unsigned)count, sizeof *rows, 0);
    return 0;
}

/* ---- snapshots ---- */

struct manage_snapshot_body {
    const char *volume_id;
    const json_t *reference;
    const char *name, *description;
    const json_t *metadata;
};

static const struct field manage_snapshot_fields[] = {
    FIELD_UUID(struct manage_snapshot_body, volume_id, "volume_id", FIELD_REQUIRED),
    FIELD_ANY(struct manage_snapshot_body, reference, "ref", FIELD_REQUIRED),
    FIELD_NAME0(struct manage_snapshot_body, name, "name", 0),
    FIELD_NAMET(struct manage_snapshot_body, description, "description", 0),
    FIELD_META(struct manage_snapshot_body, metadata, "metadata", FIELD_NULLABLE),
    FIELDS_END,
};

static int ask_for_snapshot(struct request *request, struct error *err) {
    const struct manage_snapshot_body *body = request->body;
    const struct pairs metadata = request_pairs(request, body->metadata);
    struct policy_target owner;
    const struct volume *volume;
    const char *name;

    request->wait_project = request->context.project_id;
    request->wait_ms = ASK_MS;
    if (read_reference(body->reference, &name, err) < 0 ||
        metadata_check(&snapshot_resource, &metadata, err) < 0)
        return -1;
    volume = resource_load(request, &volume_resource, body->volume_id, &owner, err);
    if (!volume)
        return -1;
    if (!volume->host)
        return error_set(err, ERROR_BAD_REQUEST, "Invalid volume: Volume %s is on no backend.",
                         volume->id);
    return snapshot_manage_ask(&request->work, volume, name, &request->wait_operation, err);
}

static int manage_snapshot(struct request *request, struct error *err) {
    const struct manage_snapshot_body *body = request->body;
    const struct snapshot_new wanted = {
        .name = body->name,
        .description = body->description,
        .metadata = request_pairs(request, body->metadata),
    };
    struct policy_target owner;
    const struct volume *volume;
    struct snapshot snapshot;
    const char *name;

    if (read_reference(body->reference, &name, err) < 0 ||
        metadata_check(&snapshot_resource, &wanted.metadata, err) < 0)
        return -1;
    volume = resource_load(request, &volume_resource, body->volume_id, &owner, err);
    if (!volume ||
        manageable_check_answer(&request->work, request->wait_operation, name, err) < 0 ||
        snapshot_manage(&request->work, volume, &wanted, name, &snapshot, err) < 0)
        return -1;
    answer_row(request, &snapshot, 0);
    return 0;
}

static int unmanage_snapshot(struct request *request, struct error *err) {
    return snapshot_unmanage(&request->work, request->object, err);
}

/* ---- rows ---- */

static const struct route_query list_queries[] = {
    { .name = "host" },     { .name = "cluster", .since = MV_CLUSTER_MANAGEABLE },
    { .name = "limit" },    { .name = "marker" },
    { .name = "offset" },   { .name = "sort" },
    { .name = "sort_key" }, { .name = "sort_dir" },
    { .name = NULL },
};

/* clang-format off */
#define LIST(path_, since_, shape_) \
    { .method = "GET", .path = path_, .since = since_, .rule = "volume_extension:list_manageable", \
      .queries = list_queries, ANSWER("manageable-volumes", shape_), .flags = ROUTE_MANY, \
      .handler = list_volumes, .status = 200, .after = manageable_listed }
#define MANAGE(path_, since_) \
    { .method = "POST", .path = path_, .since = since_, .rule = "volume_extension:volume_manage", \
      .wrapper = "volume", BODY(manage_fields, struct manage_body), \
      ANSWER("volume", volume_first_shape), .handler = ask_for_volume, .status = 202, \
      .flags = ROUTE_ASKS, .after = manage_volume }
#define LIST_SNAPSHOTS(path_, since_, shape_) \
    { .method = "GET", .path = path_, .since = since_, .rule = "snapshot_extension:list_manageable", \
      .queries = list_queries, ANSWER("manageable-snapshots", shape_), .flags = ROUTE_MANY, \
      .handler = list_snapshots, .status = 200, .after = manageable_listed }
#define MANAGE_SNAPSHOT(path_, since_) \
    { .method = "POST", .path = path_, .since = since_, .rule = "snapshot_extension:snapshot_manage", \
      .wrapper = "snapshot", BODY(manage_snapshot_fields, struct manage_snapshot_body), \
      ANSWER("snapshot", snapshot_short_shape), \
      .handler = ask_for_snapshot, .status = 202, .flags = ROUTE_ASKS, .after = manage_snapshot }
#define UNMANAGE(path_, resource_, rule_, handler_) \
    { .method = "POST", .path = path_, .action = "os-unmanage", .resource = &(resource_), \
      .rule = rule_, .flags = ROUTE_ANY_VALUE, .handler = handler_, .status = 202 }
#define ABSENT_ONE(path_) ABSENT("GET", path_), ABSENT("PUT", path_), ABSENT("DELETE", path_)

const struct route existing_routes[] = {
    LIST("/os-volume-manage", MV_LEAST, short_shape),
    LIST("/os-volume-manage/detail", MV_LEAST, detail_shape),
    MANAGE("/os-volume-manage", MV_LEAST),
    LIST("/manageable_volumes", MV_MANAGEABLE_LISTS, short_shape),
    LIST("/manageable_volumes/detail", MV_MANAGEABLE_LISTS, detail_shape),
    MANAGE("/manageable_volumes", MV_MANAGEABLE_LISTS),
    LIST_SNAPSHOTS("/os-snapshot-manage", MV_LEAST, snapshot_shape_short),
    LIST_SNAPSHOTS("/os-snapshot-manage/detail", MV_LEAST, snapshot_shape_detail),
    MANAGE_SNAPSHOT("/os-snapshot-manage", MV_LEAST),
    LIST_SNAPSHOTS("/manageable_snapshots", MV_MANAGEABLE_LISTS, snapshot_shape_short),
    LIST_SNAPSHOTS("/manageable_snapshots/detail", MV_MANAGEABLE_LISTS, snapshot_shape_detail),
    MANAGE_SNAPSHOT("/manageable_snapshots", MV_MANAGEABLE_LISTS),
    UNMANAGE("/volumes/{id}/action", volume_resource, "volume_extension:volume_unmanage",
             unmanage_volume),
    UNMANAGE("/snapshots/{id}/action", snapshot_resource, "snapshot_extension:snapshot_unmanage",
             unmanage_snapshot),
    ABSENT_ONE("/os-volume-manage/{id}"),
    ABSENT_ONE("/manageable_volumes/{id}"),
    ABSENT_ONE("/os-snapshot-manage/{id}"),
    ABSENT_ONE("/manageable_snapshots/{id}"),
    ROUTES_END,
};
/* clang-format on */
