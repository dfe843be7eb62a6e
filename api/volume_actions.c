#include "api/answer.h"
#include "api/connect.h"
#include "api/routes.h"
#include "api/view.h"
#include "api/volume_resource.h"
#include "common/extend_header.h"
#include "ledger/pairs.h"
#include "volume/attach.h"
#include "volume/connect.h"
#include "volume/delete.h"
#include "volume/extend.h"
#include "volume/reset.h"
#include "volume/revert.h"

static int authorize(struct request *request, const char *rule, struct error *err) {
    return request_authorize(request, rule, request->owner, err);
}

/* ---- extend ---- */

struct extend_body {
    int64_t new_size_gb;
};

static const struct field extend_fields[] = {
    FIELD_SIZE(struct extend_body, new_size_gb, "new_size", FIELD_REQUIRED),
    FIELDS_END,
};

static int extend(struct request *request, struct error *err) {
    const struct extend_body *body = request->body;
    const struct volume *volume = request->object;
    bool attached_allowed = request->minor >= MV_EXTEND_IN_USE;
    bool attached = attached_allowed && volume->status == VOLUME_IN_USE;

    if (authorize(request, attached ? "volume:extend_attached_volume" : "volume:extend", err) < 0)
        return -1;
    return volume_extend(&request->work, volume, body->new_size_gb, attached_allowed, err);
}

struct completion_body {
    const json_t *error;
};

static const struct field completion_fields[] = {
    FIELD_ANY(struct completion_body, error, "error", 0),
    FIELDS_END,
};

/* Absent and null are false; a boolean word is what it says; nothing else is taken (D10). */
static int read_completion_error(const json_t *error, bool *ret, struct error *err) {
    *ret = false;
    if (!error || json_is_null(error))
        return 0;
    if (json_is_boolean(error)) {
        *ret = json_is_true(error);
        return 0;
    }
    if (json_is_string(error) && json_boolean_word(json_string_value(error), true, ret))
        return 0;
    return error_set(err, ERROR_BAD_REQUEST,
                     "Invalid input for field/attribute error: it must be a boolean.");
}

static int check_completion(struct request *request, struct error *err) {
    const struct completion_body *body = request->body;
    bool failed;

    return read_completion_error(body->error, &failed, err);
}

static int complete_extend(struct request *request, struct error *err) {
    const struct completion_body *body = request->body;
    bool failed;

    if (read_completion_error(body->error, &failed, err) < 0)
        return -1;
    return volume_extend_completion(&request->work, request->object,
                                    http_header(request->http, EXTEND_HEADER), failed, err);
}

/* ---- revert ---- */

struct revert_body {
    const char *snapshot_id;
};

static const struct field revert_fields[] = {
    FIELD_NAME0(struct revert_body, snapshot_id, "snapshot_id", 0),
    FIELDS_END,
};

static int revert(struct request *request, struct error *err) {
    const struct revert_body *body = request->body;

    return volume_revert(&request->work, request->object, body->snapshot_id, err);
}

/* ---- status ---- */

struct reset_body {
    const char *status, *attach_status, *migration_status;
};

static const struct field reset_fields[] = {
    FIELD_NAME0(struct reset_body, status, "status", 0),
    FIELD_NAME0(struct reset_body, attach_status, "attach_status", 0),
    FIELD_NAME0(struct reset_body, migration_status, "migration_status", 0),
    FIELDS_END,
};

static int check_reset(struct request *request, struct error *err) {
    const struct reset_body *body = request->body;

    if (text_or_null(body->status) || text_or_null(body->attach_status) ||
        text_or_null(body->migration_status))
        return 0;
    return error_set(err, ERROR_BAD_REQUEST,
                     "Must specify 'status', 'attach_status' or 'migration_status' for update.");
}

static int reset_status(struct request *request, struct error *err) {
    const struct reset_body *body = request->body;

    return volume_reset_status(&request->work, request->object, text_or_null(body->status),
                               text_or_null(body->attach_status),
                               text_or_null(body->migration_status), err);
}

static int force_delete(struct request *request, struct error *err) {
    if (authorize(request, "volume:delete", err) < 0)
        return -1;
    return volume_delete(&request->work, request->object, false, true, err);
}

/* ---- attaching ---- */

struct attach_body {
    const char *mountpoint, *instance_uuid, *host_name, *mode;
};

static const char *const attach_modes[] = { "rw", "ro", NULL };

static const struct field attach_fields[] = {
    FIELD_TEXT(struct attach_body, mountpoint, "mountpoint", FIELD_REQUIRED, 1, 255),
    FIELD_UUID(struct attach_body, instance_uuid, "instance_uuid", 0),
    FIELD_TEXT(struct attach_body, host_name, "host_name", 0, 0, 255),
    FIELD_WORD(struct attach_body, mode, "mode", 0, attach_modes),
    FIELDS_END,
};

static int check_attach(struct request *request, struct error *err) {
    const struct attach_body *body = request->body;

    if (body->instance_uuid || text_or_null(body->host_name))
        return 0;
    return error_set(err, ERROR_BAD_REQUEST,
                     "Invalid input received: instance_uuid or host_name is needed.");
}

static int attach(struct request *request, struct error *err) {
    const struct attach_body *body = request->body;

    return volume_attach(&request->work, request->object, body->instance_uuid,
                         text_or_null(body->host_name), body->mountpoint,
                         body->mode ? body->mode : "rw", err);
}

struct detach_body {
    const char *attachment_id;
    const json_t *connector; /* taken for old clients; the attachment's own counts */
};

static const struct field detach_fields[] = {
    FIELD_UUID(struct detach_body, attachment_id, "attachment_id", FIELD_NULLABLE),
    FIELDS_END,
};

static int detach(struct request *request, struct error *err) {
    const struct detach_body *body = request->body;

    return volume_detach(&request->work, request->object, body->attachment_id, err);
}

static const struct field force_detach_fields[] = {
    FIELD_NAME0(struct detach_body, attachment_id, "attachment_id", 0),
    FIELD_OBJECT(struct detach_body, connector, "connector", FIELD_NULLABLE | FIELD_OR_TEXT),
    FIELDS_END,
};

static int force_detach(struct request *request, struct error *err) {
    const struct detach_body *body = request->body;
    struct volume *volume = request->object;

    if (authorize(request, "volume_extension:volume_actions:terminate_connection", err) < 0 ||
        authorize(request, "volume_extension:volume_actions:detach", err) < 0 ||
        volume_unreserve(&request->work, volume, err) < 0 ||
        volume_get(&request->work, volume->id, volume, err) < 0)
        return -1;
    return volume_detach(&request->work, volume, text_or_null(body->attachment_id), err);
}

static int reserve(struct request *request, struct error *err) {
    return volume_reserve(&request->work, request->object, err);
}

static int unreserve(struct request *request, struct error *err) {
    return volume_unreserve(&request->work, request->object, err);
}

static int begin_detaching(struct request *request, struct error *err) {
    return volume_begin_detaching(&request->work, request->object, err);
}

static int roll_detaching(struct request *request, struct error *err) {
    return volume_roll_detaching(&request->work, request->object, err);
}

/* ---- connections ---- */

struct connection_body {
    const json_t *connector;
};

static const struct field initialize_fields[] = {
    FIELD_OBJECT(struct connection_body, connector, "connector", FIELD_REQUIRED | FIELD_OR_TEXT),
    FIELDS_END,
};

static const struct field terminate_fields[] = {
    FIELD_OBJECT(struct connection_body, connector, "connector",
                 FIELD_REQUIRED | FIELD_NULLABLE | FIELD_OR_TEXT),
    FIELDS_END,
};

static int initialize_connection(struct request *request, struct error *err) {
    const struct connection_body *body = request->body;
    const struct volume *volume = request->object;

    if (!json_is_object(body->connector))
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid input for field/attribute connector: a text says nothing about "
                         "the host; an object is needed.");
    request->wait_project = volume->project_id;
    return volume_initialize_connection(&request->work, volume, body->connector,
                                        &request->wait_operation, err);
}

static int connection_initialized(struct request *request, struct error *err) {
    const json_t *answer;
    int answered = connect_read_answer(request, &answer, err);

    if (answered < 0)
        return -1;
    if (answered == 0)
        return error_set(err, ERROR_TRY_LATER, "The backend's answer is lost.");
    answer_open(request);
    out_value(&request->out, json_object_get(answer, "connection_info"));
    answer_close(request);
    return 0;
}

static int terminate_connection(struct request *request, struct error *err) {
    return volume_terminate_connection(&request->work, request->object, err);
}

/* ---- flags ---- */

struct flag_body {
    bool value;
};

static const struct field bootable_fields[] = {
    FIELD_BOOL(struct flag_body, value, "bootable", FIELD_REQUIRED),
    FIELDS_END,
};

static const struct field readonly_fields[] = {
    FIELD_BOOL(struct flag_body, value, "readonly", FIELD_REQUIRED),
    FIELDS_END,
};

static int set_bootable(struct request *request, struct error *err) {
    const struct flag_body *body = request->body;
    const struct volume_changes changes = { .set_bootable = true, .bootable = body->value };

    return volume_update(&request->work, request->object, &changes, err);
}

static int set_readonly(struct request *request, struct error *err) {
    const struct flag_body *body = request->body;

    return volume_set_readonly(&request->work, request->object, body->value, err);
}

/* ---- image metadata ---- */

struct image_body {
    const json_t *metadata;
    const char *key;
};

static const struct field set_image_fields[] = {
    FIELD_META(struct image_body, metadata, "metadata", FIELD_REQUIRED | FIELD_LONG_VALUES),
    FIELDS_END,
};

static const struct field unset_image_fields[] = {
    FIELD_TEXT(struct image_body, key, "key", FIELD_REQUIRED, 1, 255),
    FIELDS_END,
};

static void put_image_metadata(struct request *request) {
    const struct volume *volume = request->object;

    answer_open(request);
    view_pairs(&request->out, &volume->image_metadata);
    answer_close(request);
}

static int set_image_metadata(struct request *request, struct error *err) {
    const struct image_body *body = request->body;
    struct volume *volume = request->object;
    struct pairs pairs = request_pairs(request, body->metadata);

    if (authorize(request, "volume:update_volume_metadata", err) < 0 ||
        volume_image_metadata_set(&request->work, volume, &pairs, err) < 0 ||
        pair_rows_get(&request->work, &image_metadata_rows, volume->id, &volume->image_metadata,
                      err) < 0)
        return -1;
    put_image_metadata(request);
    return 0;
}

static int show_image_metadata(struct request *request, struct error *err) {
    const struct volume *volume = request->object;

    if (volume->image_metadata.count == 0)
        return error_set(err, ERROR_NOT_FOUND, "Volume %s has no image metadata.", volume->id);
    put_image_metadata(request);
    return 0;
}

static int unset_image_metadata(struct request *request, struct error *err) {
    const struct image_body *body = request->body;

    if (authorize(request, "volume:delete_volume_metadata", err) < 0)
        return -1;
    return volume_image_metadata_delete(&request->work, request->object, body->key, err);
}

/* ---- rows ---- */

#define ACTION(name) \
    .method = "POST", .path = "/volumes/{id}/action", .resource = &volume_resource, .action = name
#define USER(name)  .rule = "volume_extension:volume_actions:" name
#define ADMIN(name) .rule = "volume_extension:volume_admin_actions:" name

/* clang-format off */
const struct route volume_action_routes[] = {
    { ACTION("os-extend"), BODY(extend_fields, struct extend_body),
      .handler = extend, .status = 202 },
    { ACTION("os-extend_volume_completion"), .since = MV_EXTEND_COMPLETION, ADMIN("extend_volume_completion"),
      BODY(completion_fields, struct completion_body),
      .check = check_completion, .handler = complete_extend, .status = 202 },

    { ACTION("revert"), .since = MV_REVERT, .rule = "volume:revert_to_snapshot",
      BODY(revert_fields, struct revert_body), .flags = ROUTE_OPEN, .handler = revert, .status = 202 },

    { ACTION("os-reset_status"), ADMIN("reset_status"), BODY(reset_fields, struct reset_body),
      .check = check_reset, .handler = reset_status, .status = 202 },
    { ACTION("os-force_delete"), ADMIN("force_delete"), .flags = ROUTE_ANY_VALUE,
      .handler = force_delete, .status = 202 },

    { ACTION("os-attach"), USER("attach"), BODY(attach_fields, struct attach_body),
      .check = check_attach, .handler = attach, .status = 202 },
    { ACTION("os-detach"), USER("detach"), BODY(detach_fields, struct detach_body),
      .flags = ROUTE_NULL_VALUE, .handler = detach, .status = 202 },
    { ACTION("os-force_detach"), ADMIN("force_detach"),
      BODY(force_detach_fields, struct detach_body), .handler = force_detach, .status = 202 },
    { ACTION("os-reserve"), USER("reserve"), .flags = ROUTE_ANY_VALUE,
      .handler = reserve, .status = 202 },
    { ACTION("os-unreserve"), USER("unreserve"), .flags = ROUTE_ANY_VALUE,
      .handler = unreserve, .status = 202 },
    { ACTION("os-begin_detaching"), USER("begin_detaching"), .flags = ROUTE_ANY_VALUE,
      .handler = begin_detaching, .status = 202 },
    { ACTION("os-roll_detaching"), USER("roll_detaching"), .flags = ROUTE_ANY_VALUE,
      .handler = roll_detaching, .status = 202 },

    { ACTION("os-initialize_connection"), USER("initialize_connection"),
      BODY(initialize_fields, struct connection_body), ANSWER("connection_info", shape_any),
      .handler = initialize_connection, .status = 200, .after = connection_initialized },
    { ACTION("os-terminate_connection"), USER("terminate_connection"),
      BODY(terminate_fields, struct connection_body),
      .handler = terminate_connection, .status = 202 },

    { ACTION("os-set_bootable"), .rule = "volume:update", BODY(bootable_fields, struct flag_body),
      .handler = set_bootable, .status = 200 },
    { ACTION("os-update_readonly_flag"), .rule = "volume:update_readonly_flag",
      BODY(readonly_fields, struct flag_body), .handler = set_readonly, .status = 202 },

    { ACTION("os-set_image_metadata"), .rule = "volume_extension:volume_image_metadata:set",
      BODY(set_image_fields, struct image_body), ANSWER("metadata", shape_pairs), .handler = set_image_metadata, .status = 200 },
    { ACTION("os-show_image_metadata"), .rule = "volume:get_volume_metadata",
      ANSWER("metadata", shape_pairs), .flags = ROUTE_ANY_VALUE, .handler = show_image_metadata, .status = 200 },
    { ACTION("os-unset_image_metadata"), .rule = "volume_extension:volume_image_metadata:remove",
      BODY(unset_image_fields, struct image_body),
      .handler = unset_image_metadata, .status = 200, .flags = ROUTE_BARE },
    ROUTES_END,
};
/* clang-format on */
