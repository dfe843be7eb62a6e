/*
 * Documents of declared/ in this API: their routes, and the volume and snapshots of a config.
 */
#include "api/documents/agent_instance.h"
#include "api/documents/resources.h"

#include "common/scoria_headers.h"
#include "declared/document_edit.h"
#include "declared/document_own.h"
#include "declared/volume_recovery.h"
#include "rest/answer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- changes ---- */

/* For the description of the API; other members belong to the kind (declared/kind.h). */
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

/* Validation only, nothing is changed. */
static const struct route_query change_queries[] = { { "dry_run", .is_boolean = true },
                                                     { .name = NULL } };
static const struct route_query delete_queries[] = { { "dry_run", .is_boolean = true },
                                                     { .name = "resourceVersion" },
                                                     { .name = NULL } };

static const struct field whole_fields[] = { DOCUMENT_FIELDS(FIELD_REQUIRED), FIELDS_END };
static const struct field patch_fields[] = { DOCUMENT_FIELDS(0), FIELDS_END };
static const struct field config_whole_fields[] = { CONFIG_FIELDS(FIELD_REQUIRED), FIELDS_END };
static const struct field config_patch_fields[] = { CONFIG_FIELDS(0), FIELDS_END };

static int create(struct request *request, struct error *err) {
    struct document document;
    bool dry_run = false;

    if (request_flag(request, "dry_run", &dry_run, err) < 0 ||
        document_create(&request->work, document_kind_asked(request), request->json, dry_run,
                        &document, err) < 0)
        return -1;
    answer_row(request, &document, 0);
    return 0;
}

typedef int document_write(struct work *work, const struct document *before, const json_t *given,
                           bool dry_run, struct document *ret, struct error *err);

static int change(struct request *request, document_write *write, struct error *err) {
    struct document document;
    bool dry_run = false;

    if (request_flag(request, "dry_run", &dry_run, err) < 0 ||
        write(&request->work, request->object, request->json, dry_run, &document, err) < 0)
        return -1;
    answer_row(request, &document, 0);
    return 0;
}

static int replace(struct request *request, struct error *err) {
    return change(request, document_replace, err);
}

static int patch(struct request *request, struct error *err) {
    return change(request, document_patch, err);
}

static int delete_one(struct request *request, struct error *err) {
    const char *version = request_query(request, "resourceVersion");
    const struct document *before = request->object;
    struct document document;
    bool dry_run = false;
    char now[24];

    if (request_flag(request, "dry_run", &dry_run, err) < 0)
        return -1;
    /* with a version it applies to that one and no later one */
    snprintf(now, sizeof now, "%" PRId64, before->version);
    if (version && strcmp(version, now) != 0)
        return error_set(err, ERROR_CONFLICT,
                         "resourceVersion: %s %s was changed meanwhile; read it again.",
                         before->kind->label, before->name);
    if (document_delete(&request->work, before, dry_run, &document, err) < 0)
        return -1;
    if (json_array_size(document.finalizers) > 0)
        request->status = request->route->status_later;
    return 0;
}

/* ---- status reports of nodes ---- */

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

    if (agent_instance_check(request, body->node, err) < 0 ||
        document_status_put(&request->work, request->object, body->node, body->status, &document,
                            err) < 0)
        return -1;
    answer_row(request, &document, 0);
    return 0;
}

/* ---- for administrators ---- */

static const struct field salvage_fields[] = {
    FIELD_TEXT(struct recovery_request, version, "resourceVersion", FIELD_NULLABLE, 1, 24),
    FIELD_TEXT(struct recovery_request, stopped, "stopped", FIELD_NULLABLE, 1, 255),
    FIELDS_END,
};

static int salvage(struct request *request, struct error *err) {
    struct document volume;

    if (volume_recovery_request(&request->work, request->object, request->body, &volume, err) < 0)
        return -1;
    answer_row(request, &volume, 0);
    return 0;
}

/* ---- the volume of a config ---- */

/* The number of its volumes, or -1. */
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
    const struct document *document = request->object;
    struct document_event *events;
    int count = document_events(&request->work, document->id, &events, err);

    if (count < 0)
        return -1;
    answer_rows(request, events, (unsigned)count, sizeof *events, 0);
    return 0;
}

/* ---- rows ---- */

/* clang-format off */
/* `word_` names resource and shape, too. */
#define READS(word_, collection_) \
    { .method = "GET", .path = "/" collection_, .resource = &word_##_resource, \
      .rule = #word_ ":get_all", .handler = resource_list, .status = 200 }, \
    { .method = "GET", .path = "/" collection_ "/{id}", .resource = &word_##_resource, \
      .rule = #word_ ":get", .handler = resource_show, .status = 200 }
#define CHANGE(method_, path_, word_, rule_, fields_, handler_, status_) \
    { .method = method_, .path = path_, .resource = &word_##_resource, .rule = #word_ ":" rule_, \
      .wrapper = #word_, BODY(fields_, struct document_body), .queries = change_queries, \
      .handler = handler_, .status = status_, ANSWER(#word_, word_##_shape) }
#define CHANGES(word_, collection_, whole_, patch_) \
    CHANGE("POST", "/" collection_, word_, "create", whole_, create, 201), \
    CHANGE("PUT", "/" collection_ "/{id}", word_, "update", whole_, replace, 200), \
    CHANGE("PATCH", "/" collection_ "/{id}", word_, "update", patch_, patch, 200), \
    { .method = "DELETE", .path = "/" collection_ "/{id}", .resource = &word_##_resource, \
      .rule = #word_ ":delete", .queries = delete_queries, .handler = delete_one, \
      .status = 204, .status_later = 202, .flags = ROUTE_BARE }
#define OF_CONFIG(name_, handler_, answer_, shape_, flags_) \
    { .method = "GET", .path = "/volume_configs/{id}/" name_, .resource = &volume_config_resource, \
      .rule = "volume_config:get", .handler = handler_, .status = 200, ANSWER(answer_, shape_), \
      .flags = flags_ }
#define STATUS(word_, collection_) \
    { .method = "PUT", .path = "/" collection_ "/{id}/status", .resource = &word_##_resource, \
      .rule = #word_ ":update_status", HEADER_IN(IN_HEADER, INSTANCE_HEADER), \
      BODY(status_put_fields, struct status_put), \
      .flags = ROUTE_NO_WRAPPER, .handler = put_node_status, .status = 200, \
      ANSWER(#word_, word_##_shape) }

const struct route document_routes[] = {
    READS(volume_policy, "volume_policies"),
    CHANGES(volume_policy, "volume_policies", whole_fields, patch_fields),
    READS(volume_config, "volume_configs"),
    CHANGES(volume_config, "volume_configs", config_whole_fields, config_patch_fields),
    OF_CONFIG("volume",   show_volume,   "replicated_volume", replicated_volume_shape, 0),
    OF_CONFIG("replicas", list_replicas, "volume_replicas",   volume_replica_shape,    ROUTE_MANY),
    OF_CONFIG("events",   list_events,   "events",            event_shape,             ROUTE_MANY),
    READS(volume_config_snapshot, "volume_config_snapshots"),
    CHANGES(volume_config_snapshot, "volume_config_snapshots", whole_fields, patch_fields),
    READS(replicated_volume, "replicated_volumes"),
    { .method = "GET", .path = "/replicated_volumes/{id}/events",
      .resource = &replicated_volume_resource, .rule = "replicated_volume:get",
      .handler = list_events, .status = 200, ANSWER("events", event_shape), .flags = ROUTE_MANY },
    STATUS(replicated_volume, "replicated_volumes"),
    READS(volume_replica, "volume_replicas"),
    STATUS(volume_replica, "volume_replicas"),
    { .method = "POST", .path = "/volume_replicas/{id}/salvage",
      .resource = &volume_replica_resource, .rule = "volume_replica:salvage",
      .wrapper = "salvage", BODY(salvage_fields, struct recovery_request), .handler = salvage,
      .status = 202, ANSWER("replicated_volume", replicated_volume_shape) },
    ROUTES_END,
};
/* clang-format on */
