#include "api/snapshot/resource.h"
#include "api/volume/resource.h"
#include "common/scoria_headers.h"
#include "model/snapshot/create.h"
#include "model/snapshot/delete.h"
#include "model/snapshot/reset.h"
#include "rest/answer.h"
#include "rest/metadata.h"
#include "rest/status_body.h"
#include "rest/unique.h"

#include <string.h>

static int answer_change(struct request *request, const struct snapshot *snapshot) {
    answer_row(request, snapshot, 0);
    return 0;
}

/* ---- create ---- */

struct create_body {
    const char *volume_id, *name, *display_name, *description;
    const json_t *metadata;
    bool force;
};

static const struct field create_fields[] = {
    FIELD_UUID(struct create_body, volume_id, "volume_id", FIELD_REQUIRED | FIELD_NULLABLE),
    FIELD_NAME0(struct create_body, name, "name", 0),
    FIELD_NAME0(struct create_body, display_name, "display_name", 0),
    FIELD_DESC(struct create_body, description, "description", 0),
    FIELD_META(struct create_body, metadata, "metadata", FIELD_NULLABLE),
    FIELD_BOOL(struct create_body, force, "force", 0),
    FIELDS_END,
};

/* From 3.66 on a volume in use needs no force, which must be absent or true. */
static int check_create(struct request *request, struct error *err) {
    const struct create_body *body = request->body;

    if (request->minor >= MV_SNAPSHOT_IN_USE && json_has(request->json, "force") && !body->force)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid value for 'force': since microversion 3.66 a snapshot of a "
                         "volume in use is always made, and false is not taken.");
    return 0;
}

static int create_snapshot(struct request *request, struct error *err) {
    const struct create_body *body = request->body;
    const struct snapshot_new wanted = {
        .name = json_has(request->json, "name") ? body->name : body->display_name,
        .description = body->description,
        .metadata = request_pairs(request, body->metadata),
        .in_use_allowed = body->force || request->minor >= MV_SNAPSHOT_IN_USE,
    };
    struct policy_target owner;
    const struct volume *volume;
    struct snapshot snapshot;

    if (metadata_check(&snapshot_resource, &wanted.metadata, err) < 0 ||
        unique_check_pair(request, &snapshot_resource, &wanted.metadata, err) < 0)
        return -1;
    volume = resource_load(request, &volume_resource, body->volume_id ? body->volume_id : "None",
                           &owner, err);
    if (!volume || request_authorize(request, "volume:create_snapshot", &owner, err) < 0 ||
        snapshot_create(&request->work, volume, &wanted, &snapshot, err) < 0)
        return -1;
    return answer_change(request, &snapshot);
}

/* ---- update, delete ---- */

struct update_body {
    const char *name, *display_name, *description, *display_description;
};

static const struct field update_fields[] = {
    FIELD_NAME0(struct update_body, name, "name", 0),
    FIELD_NAME0(struct update_body, display_name, "display_name", 0),
    FIELD_DESC(struct update_body, description, "description", 0),
    FIELD_DESC(struct update_body, display_description, "display_description", 0),
    FIELDS_END,
};

static int check_update(struct request *request, struct error *err) {
    if (json_object_size(request->json) > 0)
        return 0;
    return error_set(err, ERROR_BAD_REQUEST,
                     "Invalid input for field/attribute snapshot: at least one of name, "
                     "description, display_name and display_description is needed.");
}

static int update_snapshot(struct request *request, struct error *err) {
    const struct update_body *body = request->body;
    const json_t *json = request->json;
    struct snapshot *snapshot = request->object;
    bool name = json_has(json, "name"), description = json_has(json, "description");
    const struct snapshot_changes changes = {
        .set_name = name || json_has(json, "display_name"),
        .set_description = description || json_has(json, "display_description"),
        .name = name ? body->name : body->display_name,
        .description = description ? body->description : body->display_description,
    };

    if (snapshot_update(&request->work, snapshot, &changes, err) < 0 ||
        snapshot_get(&request->work, snapshot->id, snapshot, err) < 0)
        return -1;
    return answer_change(request, snapshot);
}

static int delete_snapshot(struct request *request, struct error *err) {
    const struct snapshot *snapshot = request->object;
    bool retried = false, unreported;

    if (request_is_marked(request, RETRY_HEADER, &retried, err) < 0 ||
        metadata_check_unreported(request, &snapshot->metadata, &unreported, err) < 0)
        return -1;
    return snapshot_delete(&request->work, snapshot, retried || unreported ? DELETE_RETRIED : 0U,
                           err);
}

/* ---- actions ---- */

static int force_delete(struct request *request, struct error *err) {
    if (request_authorize(request, "volume:delete_snapshot", request->owner, err) < 0)
        return -1;
    return snapshot_delete(&request->work, request->object, DELETE_FORCE, err);
}

static int reset_status(struct request *request, struct error *err) {
    const struct status_body *body = request->body;

    return snapshot_reset_status(&request->work, request->object, body->status, err);
}

struct report_body {
    const char *status, *progress;
};

static const struct field report_fields[] = {
    FIELD_TEXT(struct report_body, status, "status", FIELD_REQUIRED, 1, 255),
    FIELD_TEXT(struct report_body, progress, "progress", 0, 2, 4),
    FIELDS_END,
};

/* "0%" to "100%" */
static int check_report(struct request *request, struct error *err) {
    const struct report_body *body = request->body;
    size_t digits = body->progress ? strspn(body->progress, "0123456789") : 0;

    if (!body->progress || (digits > 0 && strcmp(body->progress + digits, "%") == 0 &&
                            (digits < 3 || strcmp(body->progress, "100%") == 0)))
        return 0;
    return error_set(err, ERROR_BAD_REQUEST,
                     "Invalid input for field/attribute progress: '%s' is no percentage.",
                     body->progress);
}

static int report_status(struct request *request, struct error *err) {
    const struct report_body *body = request->body;

    return snapshot_report_status(&request->work, request->object, body->status, body->progress,
                                  err);
}

/* ---- rows ---- */

static const struct route_query delete_queries[] = { { RETRY_HEADER, .place = IN_HEADER },
                                                     { UNREPORTED_HEADER, .place = IN_HEADER },
                                                     { .name = NULL } };

/* clang-format off */
#define ACTION(name, rule_) \
    .method = "POST", .path = "/snapshots/{id}/action", .action = name, \
    .resource = &snapshot_resource, .rule = rule_, .status = 202

const struct route snapshot_routes[] = {
    { .method = "GET", .path = "/snapshots", .resource = &snapshot_resource,
      .rule = "volume:get_all_snapshots", .handler = resource_list, .status = 200 },
    { .method = "GET", .path = "/snapshots/detail", .resource = &snapshot_resource,
      .rule = "volume:get_all_snapshots", .handler = resource_list_detail, .status = 200 },
    { .method = "POST", .path = "/snapshots", .wrapper = "snapshot", HEADER_IN(IN_HEADER, UNIQUE_HEADER),
      BODY(create_fields, struct create_body), .check = check_create,
      ANSWER("snapshot", snapshot_shape), .handler = create_snapshot, .status = 202 },
    { .method = "GET", .path = "/snapshots/{id}", .resource = &snapshot_resource,
      .rule = "volume:get_snapshot", .handler = resource_show, .status = 200 },
    { .method = "PUT", .path = "/snapshots/{id}", .resource = &snapshot_resource,
      .rule = "volume:update_snapshot", .wrapper = "snapshot",
      BODY(update_fields, struct update_body), .check = check_update,
      ANSWER("snapshot", snapshot_shape), .handler = update_snapshot, .status = 200 },
    { .method = "DELETE", .path = "/snapshots/{id}", .resource = &snapshot_resource,
      .rule = "volume:delete_snapshot", .queries = delete_queries, .handler = delete_snapshot,
      .status = 202, .flags = ROUTE_BARE },

    METADATA_ROUTES(snapshot_resource, "/snapshots/{id}", MV_LEAST,
                    "volume:get_snapshot_metadata", "volume:update_snapshot_metadata",
                    "volume:update_snapshot_metadata", "volume:delete_snapshot_metadata"),

    { ACTION("os-reset_status", "volume_extension:snapshot_admin_actions:reset_status"),
      BODY(status_body_fields, struct status_body), .handler = reset_status },
    { ACTION("os-force_delete", "volume_extension:snapshot_admin_actions:force_delete"),
      .handler = force_delete, .flags = ROUTE_ANY_VALUE },
    { ACTION("os-update_snapshot_status",
             "snapshot_extension:snapshot_actions:update_snapshot_status"),
      BODY(report_fields, struct report_body), .check = check_report, .handler = report_status },
    ROUTES_END,
};
/* clang-format on */
