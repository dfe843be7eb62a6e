/*
 * Attaching and connecting by volume actions, as Nova did before the attachments API
 * (api/attachment/attachments.c).
 */
#include "api/attachment/connect.h"
#include "api/routes.h"
#include "api/volume/resource.h"
#include "model/attachment/attach.h"
#include "model/attachment/connect.h"
#include "rest/answer.h"

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
    const json_t *connector; /* accepted from old clients; the attachment's own is used */
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

    if (request_authorize(request, "volume_extension:volume_actions:terminate_connection",
                          request->owner, err) < 0 ||
        request_authorize(request, "volume_extension:volume_actions:detach", request->owner, err) <
            0 ||
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
        return error_set(err, ERROR_TRY_LATER, "The response of the backend is lost.");
    answer_open(request);
    out_value(&request->out, json_object_get(answer, "connection_info"));
    answer_close(request);
    return 0;
}

static int terminate_connection(struct request *request, struct error *err) {
    const struct connection_body *body = request->body;

    return volume_terminate_connection(&request->work, request->object, body->connector, err);
}

/* ---- rows ---- */

#define ACTION(name) \
    .method = "POST", .path = "/volumes/{id}/action", .resource = &volume_resource, .action = name
#define USER(name)  .rule = "volume_extension:volume_actions:" name
#define ADMIN(name) .rule = "volume_extension:volume_admin_actions:" name

/* clang-format off */
const struct route attach_action_routes[] = {
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
    ROUTES_END,
};
/* clang-format on */
