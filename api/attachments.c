#include "api/connect.h"
#include "api/load.h"
#include "api/page_read.h"
#include "api/routes.h"
#include "api/view.h"

/* ---- lists ---- */

/* clang-format off */
static const struct page_column columns[] = {
    { "id",             "a.id",             COLUMN_TEXT, false, 0 },
    { "volume_id",      "a.volume_id",      COLUMN_TEXT, true,  0 },
    { "status",         "a.attach_status",  COLUMN_TEXT, true,  0 },
    { "attach_status",  "a.attach_status",  COLUMN_TEXT, true,  0 },
    { "instance_id",    "a.instance_uuid",  COLUMN_TEXT, true,  0 },
    { "instance_uuid",  "a.instance_uuid",  COLUMN_TEXT, false, 0 },
    { "attached_host",  "a.attached_host",  COLUMN_TEXT, false, 0 },
    { "mountpoint",     "a.mountpoint",     COLUMN_TEXT, false, 0 },
    { "attach_mode",    "a.attach_mode",    COLUMN_TEXT, false, 0 },
    { "project_id",     "a.project_id",     COLUMN_TEXT, false, 0 },
    { "attach_time",    "a.attached_at",    COLUMN_TIME, false, 0 },
    { "detach_time",    "a.detached_at",    COLUMN_TIME, false, 0 },
    { "created_at",     "a.created_at",     COLUMN_TIME, false, 0 },
    { "updated_at",     "a.updated_at",     COLUMN_TIME, false, 0 },
    { .name = NULL },
};
/* clang-format on */

const struct page_rules attachment_list_rules = {
    .resource = "attachment",
    .alias = "a",
    .collection = "attachments",
    .table = "attachments",
    .columns = columns,
    .default_sort = "created_at",
    .all_tenants_by_presence = true,
};

static void put_list(struct request *request, bool detail, const struct attachment *attachments,
                     int count) {
    struct json_out *out = &request->out;

    out_begin_object(out);
    out_key(out, "attachments");
    out_begin_array(out);
    for (int i = 0; i < count; i++) {
        if (detail)
            view_attachment(request, &attachments[i], NULL);
        else
            view_attachment_short(out, &attachments[i]);
    }
    out_end_array(out);
    out_end_object(out);
}

static int list_attachments(struct request *request, bool detail, struct error *err) {
    struct attachment *attachments = NULL;
    struct page page;
    int count = 0;

    if (page_read(request, &attachment_list_rules, true, &page, err) < 0)
        return -1;
    if (!page.empty)
        count = attachment_list(&request->work, &page.query, &attachments, err);
    if (count < 0)
        return -1;
    put_list(request, detail, attachments, count);
    return 0;
}

static int list_short(struct request *request, struct error *err) {
    return list_attachments(request, false, err);
}

static int list_detail(struct request *request, struct error *err) {
    return list_attachments(request, true, err);
}

/* ---- one attachment ---- */

static void put_attachment(struct request *request, const char *format) {
    out_begin_object(&request->out);
    out_key(&request->out, "attachment");
    view_attachment(request, &request->attachment, format);
    out_end_object(&request->out);
}

static int show_attachment(struct request *request, struct error *err) {
    (void)err;
    put_attachment(request, pairs_get(&request->volume.admin_metadata, "format"));
    return 0;
}

struct create_body {
    const char *volume_uuid, *instance_uuid, *mode;
    const json_t *connector;
};

static const char *const modes[] = { "rw", "ro", NULL };

static const struct field create_fields[] = {
    FIELD_UUID(struct create_body, volume_uuid, "volume_uuid", FIELD_REQUIRED),
    FIELD_UUID(struct create_body, instance_uuid, "instance_uuid", 0),
    FIELD_OBJECT(struct create_body, connector, "connector", FIELD_NULLABLE),
    { .name = "mode",
      .type = FIELD_TYPE_WORD,
      .offset = offsetof(struct create_body, mode),
      .words = modes,
      .since = MV_ATTACHMENT_MODE },
    FIELDS_END,
};

static int authorize_create(struct request *request, struct error *err) {
    const struct volume *volume = &request->volume;

    if (request_authorize(request, "volume:attachment_create", request->owner, err) < 0)
        return -1;
    if (volume->multiattach && volume->bootable && volume->status == VOLUME_IN_USE)
        return request_authorize(request, "volume:multiattach_bootable_volume", request->owner,
                                 err);
    return 0;
}

static int create_attachment(struct request *request, struct error *err) {
    const struct create_body *body = request->body;

    if (load_volume(request, body->volume_uuid, err) < 0 || authorize_create(request, err) < 0 ||
        attachment_create(&request->work, &request->volume, body->instance_uuid, body->mode,
                          &request->attachment, err) < 0)
        return -1;
    if (json_object_size(body->connector) > 0)
        return attachment_connect(&request->work, &request->attachment, body->connector,
                                  &request->wait_operation, err);
    put_attachment(request, NULL);
    return 0;
}

struct update_body {
    const json_t *connector;
};

static const struct field update_fields[] = {
    FIELD_OBJECT(struct update_body, connector, "connector", FIELD_REQUIRED),
    FIELDS_END,
};

static int check_update(struct request *request, struct error *err) {
    const struct update_body *body = request->body;

    if (json_object_size(body->connector) == 0)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid input for field/attribute connector: it must not be empty.");
    return 0;
}

static int update_attachment(struct request *request, struct error *err) {
    const struct update_body *body = request->body;

    return attachment_connect(&request->work, &request->attachment, body->connector,
                              &request->wait_operation, err);
}

/* The record of the answer may be gone before the request looks: then the row tells the success. */
static int attachment_connected_answer(struct request *request, struct error *err) {
    const json_t *answer;
    int answered = connect_read_answer(request, &answer, err);

    if (answered < 0 ||
        attachment_get(&request->work, request->attachment.id, &request->attachment, err) < 0)
        return -1;
    if (answered == 0 && !request->attachment.connection_info)
        return error_set(err, ERROR_TRY_LATER, "The backend's answer is lost.");
    put_attachment(request, NULL);
    return 0;
}

static int delete_attachment(struct request *request, struct error *err) {
    const struct db_value volume_id = DB_TEXT(request->volume.id);
    const struct query left = {
        .where = "a.volume_id = $1",
        .values = &volume_id,
        .value_count = 1,
        .order = "a.created_at, a.id",
        .limit = -1,
    };
    struct attachment *attachments = NULL;
    int count;

    if (attachment_delete(&request->work, &request->attachment, err) < 0)
        return -1;
    count = attachment_list(&request->work, &left, &attachments, err);
    if (count < 0)
        return -1;
    put_list(request, false, attachments, count);
    return 0;
}

static int complete_attachment(struct request *request, struct error *err) {
    return attachment_complete(&request->work, &request->attachment, err);
}

/* ---- rows ---- */

#define SINCE_ATTACHMENTS .since = MV_ATTACHMENTS

/* clang-format off */
const struct route attachment_routes[] = {
    { .method = "GET", .path = "/attachments", SINCE_ATTACHMENTS,
      .handler = list_short, .status = 200 },
    { .method = "GET", .path = "/attachments/detail", SINCE_ATTACHMENTS,
      .handler = list_detail, .status = 200 },
    ABSENT("GET", "/attachments/summary"),
    { .method = "POST", .path = "/attachments", SINCE_ATTACHMENTS,
      .wrapper = "attachment", BODY(create_fields, struct create_body),
      .handler = create_attachment, .status = 200, .after = attachment_connected_answer },
    { .method = "GET", .path = "/attachments/{id}", SINCE_ATTACHMENTS, .loads = LOADS_ATTACHMENT,
      .handler = show_attachment, .status = 200 },
    { .method = "PUT", .path = "/attachments/{id}", SINCE_ATTACHMENTS, .loads = LOADS_ATTACHMENT,
      .rule = "volume:attachment_update", .wrapper = "attachment",
      BODY(update_fields, struct update_body),
      .check = check_update, .handler = update_attachment, .status = 200, .after = attachment_connected_answer },
    { .method = "DELETE", .path = "/attachments/{id}", SINCE_ATTACHMENTS,
      .loads = LOADS_ATTACHMENT, .rule = "volume:attachment_delete",
      .handler = delete_attachment, .status = 200 },
    { .method = "POST", .path = "/attachments/{id}/action", .action = "os-complete", .since = MV_ATTACHMENT_COMPLETE,
      .loads = LOADS_ATTACHMENT, .rule = "volume:attachment_complete", .flags = ROUTE_ANY_VALUE,
      .handler = complete_attachment, .status = 204 },
    ROUTES_END,
};
/* clang-format on */
