#include "api/attachment/connect.h"
#include "api/routes.h"
#include "api/volume/resource.h"
#include "api/volume/view.h"
#include "common/scoria_headers.h"
#include "declared/volume_config.h"
#include "model/attachment/attach.h"
#include "model/attachment/attach_status.h"
#include "model/attachment/connect.h"
#include "operation/operation.h"
#include "rest/answer.h"
#include "rest/page.h"
#include "json/word.h"

#include <string.h>

/* ---- the resource ---- */

/* clang-format off */
static const struct resource_column columns[] = {
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
static const char *const admin_sorts[] = { "attached_host", NULL };

/* An attachment as loaded by the API. */
struct attached {
    struct attachment attachment; /* first: the row of the resource */
    const struct volume *volume;
};

/* Its owner is that of the volume. */
static void *load(struct request *request, const char *id, struct policy_target *ret_owner,
                  struct error *err) {
    struct attached *attached = arena_alloc(request->work.arena, sizeof(*attached));

    if (attachment_get(&request->work, id, &attached->attachment, err) < 0)
        return NULL;
    attached->volume =
        volume_resource.load(request, attached->attachment.volume_id, ret_owner, err);
    return attached->volume ? attached : NULL;
}

RESOURCE_LIST(list, struct attachment, attachment_list)

/* Lists have no rule of their own: a caller without access to any gets an empty one. */
static int narrow(struct request *request, struct page *page, struct error *err) {
    (void)err;
    if (!request_allows(request, "volume:get", NULL))
        page_and(request, page, "a.id IS NULL", NULL, 0);
    return 0;
}

static void view(struct request *request, const void *row) {
    view_attachment(request, row, NULL);
}

static const struct resource resource = {
    .name = "attachment",
    .plural = "attachments",
    .collection = "attachments",
    .label = "Volume attachment",
    RESOURCE_ROW(struct attachment),

    .load = load,
    .sees = "volume:get",
    .absent = { "Volume attachment could not be found with filter: attachment_id = ", "." },

    .table = "attachments",
    .alias = "a",
    .columns = columns,
    .admin_sorts = admin_sorts,
    .default_sort = "created_at",
    .by_project = true,
    .all_tenants_by_presence = true,
    .narrow = narrow,
    .list = list,
    .view = view,
    .shape = &attachment_shape,
    .short_shape = &attachment_short_shape,
};

/* ---- one attachment ---- */

static void put_attachment(struct request *request, const char *format) {
    answer_open(request);
    view_attachment(request, request->object, format);
    answer_close(request);
}

static int show_attachment(struct request *request, struct error *err) {
    const struct attached *attached = request->object;

    (void)err;
    put_attachment(request, pairs_get(&attached->volume->admin_metadata, "format"));
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

/* A volume being reclaimed counts, too: attaching it cancels the reclamation. */
static bool is_in_use(const struct volume *volume) {
    return volume->status == VOLUME_IN_USE ||
           (volume->status == VOLUME_RECLAIMING && attachment_status_of(volume) == VOLUME_IN_USE);
}

/* Continues the attachment that an earlier request of the host has begun: 1; 0: there is none. */
static int continue_attachment(struct request *request, const struct volume *volume,
                               const json_t *connector, struct error *err) {
    const char *host = json_text_of(connector, "host"), *mode = json_text_of(connector, "mode");
    const struct attachment *begun = NULL;
    struct attachment *attachment = arena_alloc(request->work.arena, sizeof(*attachment));
    struct operation connect;
    int waits;

    for (unsigned i = 0; host && i < volume->attachment_count && !begun; i++) {
        const struct attachment *one = &volume->attachments[i];

        if (!one->instance_uuid && one->attached_host && strcmp(one->attached_host, host) == 0)
            begun = one;
    }
    if (!begun)
        return 0;
    /* one of an import may have none */
    if (begun->attach_mode && strcmp(begun->attach_mode, "null") != 0 &&
        strcmp(begun->attach_mode, volume_is_readonly(volume) ? "ro"
                                   : mode                     ? mode
                                                              : "rw") != 0)
        return error_set(err, ERROR_CONFLICT, "Attachment %s of the host has the mode %s.",
                         begun->id, begun->attach_mode);
    waits = operation_of(&request->work, begun->id, &connect, err);
    if (waits < 0 || attachment_get(&request->work, begun->id, attachment, err) < 0)
        return -1;
    request->object = attachment;
    if (waits > 0 && connect.phase != PHASE_ANSWERED)
        request->wait_operation = connect.id;
    else if (attachment->connection_info &&
             strcmp(attachment->attach_status, "error_attaching") != 0)
        put_attachment(request, NULL);
    else if (attachment_connect(&request->work, attachment, connector, &request->wait_operation,
                                err) < 0)
        return -1;
    return 1;
}

static int create_attachment(struct request *request, struct error *err) {
    const struct create_body *body = request->body;
    struct attachment *attachment = arena_alloc(request->work.arena, sizeof(*attachment));
    struct policy_target owner;
    const struct volume *volume =
        resource_load(request, &volume_resource, body->volume_uuid, &owner, err);
    bool retried;
    int continued = 0;

    if (!volume || request_is_marked(request, RETRY_HEADER, &retried, err) < 0 ||
        request_authorize(request, "volume:attachment_create", &owner, err) < 0 ||
        (volume->multiattach && volume->bootable && is_in_use(volume) &&
         request_authorize(request, "volume:multiattach_bootable_volume", &owner, err) < 0))
        return -1;
    request->wait_project = volume->project_id;
    if (retried && !body->instance_uuid)
        continued = continue_attachment(request, volume, body->connector, err);
    if (continued != 0)
        return continued < 0 ? -1 : 0;
    if (attachment_create(&request->work, volume, body->instance_uuid, body->mode, retried,
                          attachment, err) < 0)
        return -1;
    request->object = attachment;
    if (json_object_size(body->connector) > 0)
        return attachment_connect(&request->work, attachment, body->connector,
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
    const struct attached *attached = request->object;
    const struct update_body *body = request->body;

    request->wait_project = attached->volume->project_id;
    return attachment_connect(&request->work, request->object, body->connector,
                              &request->wait_operation, err);
}

/* The record of the response may be gone by now: then the row shows the success. */
static int attachment_connected_answer(struct request *request, struct error *err) {
    struct attachment *attachment = request->object;
    const json_t *answer;
    int answered = connect_read_answer(request, &answer, err);

    if (answered < 0 || attachment_get(&request->work, attachment->id, attachment, err) < 0)
        return -1;
    if (answered == 0 && !attachment->connection_info)
        return error_set(err, ERROR_TRY_LATER, "The response of the backend is lost.");
    put_attachment(request, NULL);
    return 0;
}

static int delete_attachment(struct request *request, struct error *err) {
    const struct attached *attached = request->object;
    const struct db_value volume_id = DB_TEXT(attached->volume->id);
    const struct query left = {
        .where = "a.volume_id = $1",
        .values = &volume_id,
        .value_count = 1,
        .order = "a.created_at, a.id",
        .limit = -1,
    };
    struct attachment *attachments = NULL;
    bool incomplete;
    int count;

    if (request_is_marked(request, INCOMPLETE_HEADER, &incomplete, err) < 0)
        return -1;
    if (incomplete && strcmp(attached->attachment.attach_status, "attached") == 0)
        return error_set(err, ERROR_CONFLICT, "Attachment %s is complete.",
                         attached->attachment.id);
    if (attachment_delete(&request->work, &attached->attachment, err) < 0)
        return -1;
    count = attachment_list(&request->work, &left, &attachments, err);
    if (count < 0)
        return -1;
    answer_rows(request, attachments, (unsigned)count, sizeof(*attachments), 0);
    return 0;
}

static int complete_attachment(struct request *request, struct error *err) {
    const struct attachment *attachment = request->object;
    const char *given;
    int64_t published, most;

    /* In the transaction that completes it: of two requests for the last slot the second sees the
     * first, and so it does one that publishes a volume config. */
    if (request_renamed_header(request, VOLUME_LIMIT_HEADER, VOLUME_LIMIT_HEADER_FORMER, &given,
                               err) < 0)
        return -1;
    if (given && !json_digits(given, &most))
        return error_set(err, ERROR_BAD_REQUEST, VOLUME_LIMIT_HEADER " is not a whole number.");
    if (given && attachment->attached_host && strcmp(attachment->attach_status, "attached") != 0 &&
        (volume_config_count_published(&request->work, attachment->project_id,
                                       attachment->attached_host, &published, err) < 0 ||
         attachment_check_volume_limit(&request->work, attachment, published, most, err) < 0))
        return -1;
    return attachment_complete(&request->work, request->object, err);
}

/* ---- rows ---- */

/* clang-format off */
#define ATTACHMENT(method_, path_, since_) \
    .method = method_, .path = "/attachments" path_, .since = since_, .resource = &resource

const struct route attachment_routes[] = {
    { ATTACHMENT("GET", "", MV_ATTACHMENTS), .handler = resource_list, .status = 200 },
    { ATTACHMENT("GET", "/detail", MV_ATTACHMENTS), .handler = resource_list_detail,
      .status = 200 },
    ABSENT("GET", "/attachments/summary"),
    { ATTACHMENT("POST", "", MV_ATTACHMENTS), .wrapper = "attachment",
      HEADER_IN(IN_HEADER, RETRY_HEADER), BODY(create_fields, struct create_body),
      ANSWER("attachment", attachment_shape),
      .handler = create_attachment, .status = 200, .after = attachment_connected_answer },
    { ATTACHMENT("GET", "/{id}", MV_ATTACHMENTS), ANSWER("attachment", attachment_shape),
      .handler = show_attachment, .status = 200 },
    { ATTACHMENT("PUT", "/{id}", MV_ATTACHMENTS), .rule = "volume:attachment_update",
      .wrapper = "attachment", BODY(update_fields, struct update_body), .check = check_update,
      ANSWER("attachment", attachment_shape), .handler = update_attachment, .status = 200, .after = attachment_connected_answer },
    { ATTACHMENT("DELETE", "/{id}", MV_ATTACHMENTS), .rule = "volume:attachment_delete",
      HEADER_IN(IN_HEADER, INCOMPLETE_HEADER),
      ANSWER("attachments", attachment_short_shape), .flags = ROUTE_MANY,
      .handler = delete_attachment, .status = 200 },
    { ATTACHMENT("POST", "/{id}/action", MV_ATTACHMENT_COMPLETE), .action = "os-complete",
      .rule = "volume:attachment_complete", HEADER_IN(IN_HEADER, VOLUME_LIMIT_HEADER), .flags = ROUTE_ANY_VALUE,
      .handler = complete_attachment, .status = 204 },
    ROUTES_END,
};
/* clang-format on */
