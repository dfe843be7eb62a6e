#include "api/routes.h"
#include "api/volume/resource.h"
#include "api/volume/view.h"
#include "common/scoria_headers.h"
#include "model/volume/delete.h"
#include "model/volume/extend.h"
#include "model/volume/reset.h"
#include "model/volume/revert.h"
#include "operation/pairs.h"
#include "rest/answer.h"

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
    bool retried = false, attached;

    if (request_is_marked(request, RETRY_HEADER, &retried, err) < 0)
        return -1;
    attached = attached_allowed &&
               (volume->status == VOLUME_IN_USE || (retried && volume->attachment_count > 0));
    if (authorize(request, attached ? "volume:extend_attached_volume" : "volume:extend", err) < 0)
        return -1;
    return volume_extend(&request->work, volume, body->new_size_gb, attached_allowed, retried, err);
}

struct completion_body {
    const json_t *error;
};

static const struct field completion_fields[] = {
    FIELD_ANY(struct completion_body, error, "error", 0),
    FIELDS_END,
};

/* Absent and null are false; boolean words are accepted; nothing else is (D10). */
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
    return volume_delete(&request->work, request->object, DELETE_FORCE, err);
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
#define ADMIN(name) .rule = "volume_extension:volume_admin_actions:" name

/* clang-format off */
const struct route volume_action_routes[] = {
    { ACTION("os-extend"), HEADER_IN(IN_HEADER, RETRY_HEADER), BODY(extend_fields, struct extend_body),
      .handler = extend, .status = 202 },
    { ACTION("os-extend_volume_completion"), .since = MV_EXTEND_COMPLETION, ADMIN("extend_volume_completion"),
      HEADER_IN(IN_HEADER, EXTEND_HEADER), BODY(completion_fields, struct completion_body),
      .check = check_completion, .handler = complete_extend, .status = 202 },

    { ACTION("revert"), .since = MV_REVERT, .rule = "volume:revert_to_snapshot",
      BODY(revert_fields, struct revert_body), .flags = ROUTE_OPEN, .handler = revert, .status = 202 },

    { ACTION("os-reset_status"), ADMIN("reset_status"), BODY(reset_fields, struct reset_body),
      .check = check_reset, .handler = reset_status, .status = 202 },
    { ACTION("os-force_delete"), ADMIN("force_delete"), .flags = ROUTE_ANY_VALUE,
      .handler = force_delete, .status = 202 },

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
