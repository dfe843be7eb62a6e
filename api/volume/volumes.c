#include "api/snapshot/resource.h"
#include "api/volume/image.h"
#include "api/volume/resource.h"
#include "api/volume/summary.h"
#include "api/volume/view.h"
#include "common/scoria_headers.h"
#include "model/group/group.h"
#include "model/volume/create.h"
#include "model/volume/delete.h"
#include "model/volume/extend.h"
#include "rest/answer.h"
#include "rest/metadata.h"
#include "rest/unique.h"

#include <string.h>

#define HINTS "OS-SCH-HNT:scheduler_hints"

/* Response to a change: without the attributes of a show. */
static int answer_change(struct request *request, const struct volume *volume) {
    struct volume_view view;

    view_open(request, false, &view);
    answer_open(request);
    view_volume(&view, volume);
    answer_close(request);
    return 0;
}

static int show_volume(struct request *request, struct error *err) {
    const char *extend_id = NULL;

    /* for callers that may be the compute side */
    if (view_shows_hosts(&request->context) &&
        volume_extend_awaited(&request->work, request->object, &extend_id, err) < 0)
        return -1;
    if (extend_id)
        request_header(request, EXTEND_HEADER, extend_id);
    return resource_show(request, err);
}

/* ---- create ---- */

struct create_body {
    const char *name, *display_name, *description, *display_description;
    int64_t size_gb;
    const char *type, *availability_zone;
    const json_t *metadata;
    const char *snapshot_id, *source_volid, *backup_id, *image_ref, *image_id;
    const char *group_id, *consistencygroup_id;
    bool multiattach;
};

/* clang-format off */
static const struct field create_fields[] = {
    FIELD_NAMET(struct create_body, name, "name", 0),
    FIELD_NAMET(struct create_body, display_name, "display_name", 0),
    FIELD_NAMET(struct create_body, description, "description", 0),
    FIELD_NAMET(struct create_body, display_description, "display_description", 0),
    FIELD_SIZE(struct create_body, size_gb, "size", FIELD_NULLABLE),
    FIELD_NAME0(struct create_body, type, "volume_type", 0),
    FIELD_TEXT(struct create_body, availability_zone, "availability_zone", FIELD_NULLABLE, 1, 255),
    FIELD_META(struct create_body, metadata, "metadata", FIELD_NULLABLE),
    FIELD_UUID(struct create_body, snapshot_id, "snapshot_id", FIELD_NULLABLE),
    FIELD_UUID(struct create_body, source_volid, "source_volid", FIELD_NULLABLE),
    FIELD_UUID(struct create_body, consistencygroup_id, "consistencygroup_id", FIELD_NULLABLE),
    FIELD_NAME0(struct create_body, image_ref, "imageRef", 0),
    FIELD_NAME0(struct create_body, image_id, "image_id", 0),
    FIELD_BOOL(struct create_body, multiattach, "multiattach", FIELD_NULLABLE),
    FIELD_NAME0(struct create_body, group_id, "group_id", 0), /* before 3.13 too, as upstream */
    { .name = "backup_id", .type = FIELD_TYPE_UUID, .flags = FIELD_NULLABLE,
      .offset = offsetof(struct create_body, backup_id), .since = MV_VOLUME_FROM_BACKUP },
    FIELDS_END,
};
/* clang-format on */

struct hints {
    const char *local_to_instance;
    const json_t *same_host, *different_host, *query;
};

static const struct field hint_fields[] = {
    FIELD_UUID(struct hints, local_to_instance, "local_to_instance", FIELD_NULLABLE),
    FIELD_ANY(struct hints, same_host, "same_host", 0),
    FIELD_ANY(struct hints, different_host, "different_host", 0),
    FIELD_OBJECT(struct hints, query, "query", FIELD_OR_TEXT),
    FIELDS_END,
};

static bool holds_uuid_before(const json_t *list, size_t end, const char *uuid) {
    char other[UUID_SIZE];

    for (size_t i = 0; i < end; i++)
        if (uuid_parse(json_string_value(json_array_get(list, i)), other) &&
            strcmp(other, uuid) == 0)
            return true;
    return false;
}

static bool is_uuid(const json_t *value, char ret[UUID_SIZE]) {
    return json_is_string(value) && uuid_parse(json_string_value(value), ret);
}

/* The id of a volume, or a list of different ones. */
static int check_host_hint(const json_t *value, const char *name, struct error *err) {
    char uuid[UUID_SIZE];

    if (!value || is_uuid(value, uuid))
        return 0;
    if (!json_is_array(value) || json_array_size(value) > 100)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid input for field/attribute %s: it must be a UUID or a list of "
                         "them, at most 100.",
                         name);
    for (size_t i = 0; i < json_array_size(value); i++)
        if (!is_uuid(json_array_get(value, i), uuid) || holds_uuid_before(value, i, uuid))
            return error_set(err, ERROR_BAD_REQUEST,
                             "Invalid input for field/attribute %s: element %zu is not a UUID or "
                             "stands twice.",
                             name, i);
    return 0;
}

/* Hints are beside the volume; below 3.53, where unknown keys are accepted, also within it. */
static const json_t *hints_of(const struct request *request) {
    const json_t *hints = json_object_get(request->json_outer, HINTS);

    if (!hints && request->minor < MV_STRICT_VOLUME_BODIES)
        hints = json_object_get(request->json, "scheduler_hints");
    return json_is_null(hints) ? NULL : hints;
}

static int check_create(struct request *request, struct error *err) {
    const json_t *hints = hints_of(request);
    struct hints known = { 0 };
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)request->json_outer, key, value) {
        if (strcmp(key, "volume") != 0 && strcmp(key, HINTS) != 0)
            return error_set(err, ERROR_BAD_REQUEST,
                             "Additional properties are not allowed ('%s' was unexpected)", key);
    }
    if ((hints && json_decode(request->http->arena, hints, HINTS, hint_fields, request->minor,
                              false, &known, err) < 0) ||
        check_host_hint(known.same_host, "same_host", err) < 0 ||
        check_host_hint(known.different_host, "different_host", err) < 0)
        return -1;
    return 0;
}

static struct volume_new volume_wanted(struct request *request) {
    const struct create_body *body = request->body;
    const json_t *json = request->json;

    return (struct volume_new){
        .name = json_has(json, "name") ? body->name : body->display_name,
        .description =
            json_has(json, "description") ? body->description : body->display_description,
        .size_gb = body->size_gb,
        .type = text_or_null(body->type),
        .availability_zone = body->availability_zone,
        .metadata = request_pairs(request, body->metadata),
        .snapshot_id = body->snapshot_id,
        .source_volid = body->source_volid,
        .backup_id = body->backup_id,
        .group_id =
            body->consistencygroup_id ? body->consistencygroup_id : text_or_null(body->group_id),
        .hints = hints_of(request),
    };
}

/* The snapshot first, then the volume, as upstream: a source that is missing, or hidden from the
 * caller, is not found, also where several are given. */
static int see_sources(struct request *request, const struct volume_new *wanted,
                       struct error *err) {
    struct policy_target owner;

    if (wanted->snapshot_id &&
        !resource_load(request, &snapshot_resource, wanted->snapshot_id, &owner, err))
        return -1;
    if (wanted->source_volid &&
        !resource_load(request, &volume_resource, wanted->source_volid, &owner, err))
        return -1;
    return 0;
}

static int create_volume(struct request *request, struct error *err) {
    const struct create_body *body = request->body;
    const char *image_ref = text_or_null(body->image_ref ? body->image_ref : body->image_id);
    struct volume_new wanted = volume_wanted(request);
    struct volume_group group;
    struct volume volume;

    if (metadata_check(&volume_resource, &wanted.metadata, err) < 0 ||
        unique_check_pair(request, &volume_resource, &wanted.metadata, err) < 0)
        return -1;
    if (body->multiattach)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid input received: multiattach is a property of the volume type and "
                         "cannot be asked for here.");
    if (see_sources(request, &wanted, err) < 0)
        return -1;
    if (image_ref && !wanted.backup_id &&
        (request_authorize(request, "volume:create_from_image", NULL, err) < 0 ||
         image_ref_find(request, image_ref, &wanted, err) < 0 ||
         (!wanted.image && see_sources(request, &wanted, err) < 0)))
        return -1;
    if (wanted.group_id &&
        (group_get(&request->work, wanted.group_id, &group, err) < 0 ||
         request_authorize(request, "group:get",
                           &(struct policy_target){ group.project_id, group.user_id }, err) < 0))
        return -1;
    if (volume_create(&request->work, &wanted, &volume, err) < 0)
        return -1;
    if (volume.multiattach && request_authorize(request, "volume:multiattach", NULL, err) < 0)
        return -1; /* rolls back the new row */
    return answer_change(request, &volume);
}

/* ---- update, delete ---- */

struct update_body {
    const char *name, *display_name, *description, *display_description;
    const json_t *metadata;
};

static const struct field update_fields[] = {
    FIELD_NAMET(struct update_body, name, "name", 0),
    FIELD_NAMET(struct update_body, display_name, "display_name", 0),
    FIELD_NAMET(struct update_body, description, "description", 0),
    FIELD_NAMET(struct update_body, display_description, "display_description", 0),
    FIELD_META(struct update_body, metadata, "metadata", 0),
    FIELDS_END,
};

static int check_update(struct request *request, struct error *err) {
    if (request->minor >= MV_STRICT_VOLUME_BODIES && json_object_size(request->json) == 0)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid input for field/attribute volume: at least one of name, "
                         "description, display_name, display_description and metadata is needed.");
    return 0;
}

static int update_volume(struct request *request, struct error *err) {
    const struct update_body *body = request->body;
    const json_t *json = request->json;
    struct volume *volume = request->object;
    bool name = json_has(json, "name"), description = json_has(json, "description");
    struct volume_changes changes = {
        .set_name = name || json_has(json, "display_name"),
        .set_description = description || json_has(json, "display_description"),
        .set_metadata = json_has(json, "metadata"),
        .name = name ? body->name : body->display_name,
        .description = description ? body->description : body->display_description,
        .metadata = request_pairs(request, body->metadata),
    };

    if (metadata_check(&volume_resource, &changes.metadata, err) < 0 ||
        volume_update(&request->work, volume, &changes, err) < 0 ||
        volume_get(&request->work, volume->id, volume, err) < 0)
        return -1;
    return answer_change(request, volume);
}

static int delete_volume(struct request *request, struct error *err) {
    const struct volume *volume = request->object;
    bool cascade = false, force = false, retried = false, unreported;

    if (request_is_marked(request, RETRY_HEADER, &retried, err) < 0 ||
        metadata_check_unreported(request, &volume->metadata, &unreported, err) < 0 ||
        request_flag(request, "cascade", &cascade, err) < 0 ||
        (request->minor >= MV_FORCE_DELETE && request_flag(request, "force", &force, err) < 0) ||
        (force && request_authorize(request, "volume:force_delete", request->owner, err) < 0))
        return -1;
    return volume_delete(&request->work, volume,
                         (cascade ? DELETE_CASCADE : 0U) | (force ? DELETE_FORCE : 0U) |
                             (retried || unreported ? DELETE_RETRIED : 0U),
                         err);
}

/* ---- encryption ---- */

static const struct shape_key encryption_keys[] = {
    SHAPE(struct volume, encryption_key_id, "encryption_key_id", TEXT, .flags = SHAPE_NULLABLE),
    SHAPES_END,
};
static const struct shape encryption_shape = { NULL, encryption_keys };

static int show_encryption(struct request *request, struct error *err) {
    (void)err;
    answer_row(request, request->object, 0);
    return 0;
}

/* The bare value, not JSON: the API's form here. */
static int show_encryption_key(struct request *request, struct error *err) {
    const struct volume *volume = request->object;
    const char *value = volume->encryption_key_id;

    if (strcmp(request->key, "encryption_key_id") != 0)
        return error_set(err, ERROR_NOT_FOUND, "Volume %s has no encryption key %s.", volume->id,
                         request->key);
    if (value)
        out_raw(&request->out, value, strlen(value));
    return 0;
}

/* ---- rows ---- */

static const struct route_query summary_queries[] = { { "all_tenants", .is_boolean = true },
                                                      { .name = NULL } };
static const struct route_query delete_queries[] = { { "cascade", .is_boolean = true },
                                                     { "force", MV_FORCE_DELETE,
                                                       .is_boolean = true },
                                                     { RETRY_HEADER, .place = IN_HEADER },
                                                     { UNREPORTED_HEADER, .place = IN_HEADER },
                                                     { .name = NULL } };

/* clang-format off */
const struct route volume_routes[] = {
    { .method = "GET", .path = "/volumes", .resource = &volume_resource, .rule = "volume:get_all",
      .handler = resource_list, .status = 200 },
    { .method = "GET", .path = "/volumes/detail", .resource = &volume_resource, .rule = "volume:get_all",
      .handler = resource_list_detail, .status = 200 },
    { .method = "GET", .path = "/volumes/summary", .since = MV_VOLUME_SUMMARY, .rule = "volume:get_all",
      .queries = summary_queries, ANSWER("volume-summary", volume_summary_shape),
      .handler = volume_summary_show, .status = 200, .flags = ROUTE_BROAD },
    { .method = "POST", .path = "/volumes", .rule = "volume:create", HEADER_IN(IN_HEADER, UNIQUE_HEADER),
      .wrapper = "volume", BODY(create_fields, struct create_body),
      .flags = ROUTE_OPEN_OUTER | ROUTE_STRICT_LATE, .check = check_create,
      ANSWER("volume", volume_shape), .handler = create_volume, .status = 202 },
    { .method = "GET", .path = "/volumes/{id}", .resource = &volume_resource, .rule = "volume:get",
      HEADER_IN(IN_ANSWER, EXTEND_HEADER),
      ANSWER("volume", volume_shape), .handler = show_volume, .status = 200 },
    { .method = "PUT", .path = "/volumes/{id}", .resource = &volume_resource, .rule = "volume:update",
      .wrapper = "volume", BODY(update_fields, struct update_body),
      ANSWER("volume", volume_shape), .check = check_update, .handler = update_volume,
      .status = 200 },
    { .method = "DELETE", .path = "/volumes/{id}", .resource = &volume_resource, .rule = "volume:delete",
      .queries = delete_queries, .handler = delete_volume, .status = 202, .flags = ROUTE_BARE },

    METADATA_ROUTES(volume_resource, "/volumes/{id}", MV_LEAST,
                    "volume:get_volume_metadata", "volume:create_volume_metadata",
                    "volume:update_volume_metadata", "volume:delete_volume_metadata"),

    { .method = "GET", .path = "/volumes/{id}/encryption", .resource = &volume_resource,
      .rule = "volume_extension:volume_encryption_metadata",
      ANSWER(NULL, encryption_shape), .handler = show_encryption, .status = 200 },
    { .method = "GET", .path = "/volumes/{id}/encryption/{key}", .resource = &volume_resource,
      .rule = "volume_extension:volume_encryption_metadata",
      .handler = show_encryption_key, .status = 200, .flags = ROUTE_TEXT },

    ABSENT("POST", "/volumes/{id}/encryption"),
    ABSENT("PUT", "/volumes/{id}/encryption/{key}"),
    ABSENT("DELETE", "/volumes/{id}/encryption/{key}"),
    ROUTES_END,
};
/* clang-format on */
