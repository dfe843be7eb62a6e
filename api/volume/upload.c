#include "model/volume/upload.h"

#include "api/routes.h"
#include "api/type/view.h"
#include "api/volume/image.h"
#include "api/volume/resource.h"
#include "rest/answer.h"
#include "json/json.h"

#include <string.h>

#define ACTION "os-volume_upload_image"

/* ---- the request ---- */

struct upload_body {
    const char *image_name, *disk_format, *container_format, *visibility;
    bool force, is_protected;
};

static const char *const formats[] = {
    "raw", "vmdk", "vdi", "qcow2", "vhd", "vhdx", "ploop", NULL
};
static const char *const visibilities[] = { "community", "public", "private", "shared", NULL };

static const struct field upload_fields[] = {
    FIELD_TEXT(struct upload_body, image_name, "image_name", FIELD_REQUIRED, 1, 255),
    FIELD_BOOL(struct upload_body, force, "force", 0),
    FIELD_WORD(struct upload_body, disk_format, "disk_format", 0, formats),
    FIELD_DESC(struct upload_body, container_format, "container_format", 0),
    FIELD(struct upload_body, visibility, "visibility", WORD, 0, .words = visibilities,
          .since = MV_IMAGE_UPLOAD_VISIBILITY),
    FIELD(struct upload_body, is_protected, "protected", BOOL, 0,
          .since = MV_IMAGE_UPLOAD_VISIBILITY),
    FIELDS_END,
};

/* ---- the response ---- */

struct upload_row {
    const char *id, *status, *description;
    int64_t updated_at, size_gb;
    const struct volume_type *type; /* NULL: none */
    const char *image_id, *image_name, *container_format, *disk_format;
    const json_t *image; /* as the image service has returned it */
    const char *visibility;
};

static void put_type(struct request *request, const void *row) {
    const struct upload_row *upload = row;

    if (upload->type)
        shape_put(request, &type_shape, upload->type, type_view_rights(request, false));
    else
        out_null(&request->out);
}

static bool has_visibility(const void *row) {
    return ((const struct upload_row *)row)->visibility != NULL;
}

static bool has_flag(const void *row, const char *key) {
    return json_is_boolean(json_object_get(((const struct upload_row *)row)->image, key));
}

static void put_flag(struct request *request, const void *row, const char *key) {
    out_bool(&request->out,
             json_is_true(json_object_get(((const struct upload_row *)row)->image, key)));
}

static bool has_protected(const void *row) {
    return has_flag(row, "protected");
}

static void put_protected(struct request *request, const void *row) {
    put_flag(request, row, "protected");
}

static bool has_public(const void *row) {
    return has_flag(row, "is_public");
}

static void put_public(struct request *request, const void *row) {
    put_flag(request, row, "is_public");
}

/* clang-format off */
#define UPLOAD(member, ...) SHAPE(struct upload_row, member, __VA_ARGS__)
static const struct shape_key upload_keys[] = {
    UPLOAD(id,               "id",                  TEXT),
    UPLOAD(updated_at,       "updated_at",          TIME, .flags = SHAPE_NULLABLE),
    UPLOAD(status,           "status",              TEXT),
    UPLOAD(description,      "display_description", TEXT, .flags = SHAPE_NULLABLE),
    UPLOAD(size_gb,          "size",                INT),
    SHAPE_BY(put_type,       "volume_type",         OBJECT, .flags = SHAPE_NULLABLE, .of = &type_shape),
    UPLOAD(image_id,         "image_id",            TEXT),
    UPLOAD(container_format, "container_format",    TEXT),
    UPLOAD(disk_format,      "disk_format",         TEXT),
    UPLOAD(image_name,       "image_name",          TEXT),
    UPLOAD(visibility,       "visibility",          TEXT, .has = has_visibility),
    SHAPE_BY(put_protected,  "protected",           BOOL, .has = has_protected),
    SHAPE_BY(put_public,     "is_public",           BOOL, .has = has_public),
    SHAPES_END,
};
/* clang-format on */
static const struct shape upload_shape = { "volume_upload", upload_keys };

/* The volume as it was before. */
static int put_response(struct request *request, const struct volume *volume,
                        const struct volume_upload *upload, const json_t *image,
                        struct error *err) {
    struct volume_type type;
    struct upload_row row = {
        .id = volume->id,
        .status = status_shown(VOLUME_UPLOADING),
        .description = volume->description,
        .updated_at = volume->updated_at,
        .size_gb = volume->size_gb,
        .image_id = json_text_of(image, "id"),
        .image_name = upload->image_name,
        .container_format = upload->container_format,
        .disk_format = upload->disk_format,
        .image = image,
        .visibility = json_text_of(image, "visibility"),
    };

    if (volume->type_id) {
        if (volume_type_row(&request->work, volume->type_id, &type, err) < 0)
            return -1;
        row.type = &type;
    }
    answer_row(request, &row, 0);
    return 0;
}

static int upload_begin(struct request *request, struct error *err) {
    const struct volume *volume = request->object;
    const struct upload_body *body = request->body;
    bool sets = request->minor >= MV_IMAGE_UPLOAD_VISIBILITY; /* or the image service decides */
    const struct volume_upload upload = {
        .image_name = body->image_name,
        .disk_format = body->disk_format ? body->disk_format : "raw",
        .container_format = body->container_format ? body->container_format : "bare",
        .visibility = !sets              ? NULL
                      : body->visibility ? body->visibility
                                         : "private",
        .sets_protection = sets,
        .is_protected = body->is_protected,
        .force = body->force,
    };
    const json_t *image;

    if (upload.visibility && strcmp(upload.visibility, "public") == 0 &&
        request_authorize(request, "volume_extension:volume_actions:upload_public", request->owner,
                          err) < 0)
        return -1;
    if (volume_upload_check(&request->work, volume, &upload, err) < 0)
        return -1;
    image = image_make(request, volume_upload_describe(&request->work, volume, &upload), err);
    if (!image ||
        volume_upload(&request->work, volume, &upload, json_text_of(image, "id"), err) < 0)
        return -1;
    return put_response(request, volume, &upload, image, err);
}

/* clang-format off */
const struct route upload_routes[] = {
    { .method = "POST", .path = "/volumes/{id}/action", .resource = &volume_resource, .action = ACTION,
      .rule = "volume_extension:volume_actions:upload_image", BODY(upload_fields, struct upload_body),
      ANSWER(ACTION, upload_shape), .handler = upload_begin, .status = 202 },
    ROUTES_END,
};
/* clang-format on */
