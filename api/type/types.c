#include "api/routes.h"
#include "api/type/resource.h"
#include "api/type/view.h"
#include "model/type/access.h"
#include "rest/answer.h"
#include "rest/specs.h"

/* ---- show, create, update, delete ---- */

static int show_default_type(struct request *request, struct error *err) {
    struct volume_type type;

    if (volume_type_default(&request->work, &type, err) < 0)
        return -1;
    answer_row(request, &type, type_view_rights(request, false));
    return 0;
}

struct type_body {
    const char *name, *description;
    const json_t *extra_specs;
    bool is_public;
};

static const struct field create_fields[] = {
    FIELD_NAME1(struct type_body, name, "name", FIELD_REQUIRED | FIELD_TRIM),
    FIELD_DESC(struct type_body, description, "description", 0),
    FIELD_META(struct type_body, extra_specs, "extra_specs", FIELD_NULL_VALUES),
    FIELD_BOOL(struct type_body, is_public, "os-volume-type-access:is_public", 0),
    FIELDS_END,
};

static int create_type(struct request *request, struct error *err) {
    const struct type_body *body = request->body;
    bool is_public = !json_has(request->json, "os-volume-type-access:is_public") || body->is_public;
    struct pairs specs = request_pairs(request, body->extra_specs);
    struct volume_type type;

    if (volume_type_create(&request->work, body->name, body->description, is_public, &specs, &type,
                           err) < 0)
        return -1;
    answer_row(request, &type, type_view_rights(request, true) & ~(unsigned)TYPE_SEES_QOS);
    return 0;
}

static const struct field update_fields[] = {
    FIELD_TEXT(struct type_body, name, "name", FIELD_NULLABLE | FIELD_TRIM | FIELD_NOT_BLANK, 1,
               255),
    FIELD_DESC(struct type_body, description, "description", 0),
    FIELD_BOOL(struct type_body, is_public, "is_public", 0),
    FIELDS_END,
};

static int update_type(struct request *request, struct error *err) {
    const struct type_body *body = request->body;
    bool set_public = json_has(request->json, "is_public");
    struct volume_type *type = request->object;

    if (!body->name && !body->description && !set_public)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Specify volume type name, description, is_public or a combination "
                         "thereof.");
    if (volume_type_update(&request->work, type, body->name, body->description != NULL,
                           body->description, set_public ? body->is_public : -1, err) < 0 ||
        volume_type_row(&request->work, type->id, type, err) < 0)
        return -1;
    answer_row(request, type, type_view_rights(request, false) & ~(unsigned)TYPE_SEES_QOS);
    return 0;
}

static int delete_type(struct request *request, struct error *err) {
    return volume_type_delete(&request->work, request->object, err);
}

/* ---- extra specs ---- */

static const struct field specs_fields[] = { SPECS_FIELD("extra_specs"), FIELDS_END };
static const struct field spec_fields[] = { SPEC_FIELD("extra_specs"), FIELDS_END };

/* ---- access of projects ---- */

struct access {
    const char *type_id, *project_id;
};

static const struct shape_key access_keys[] = {
    SHAPE(struct access, type_id, "volume_type_id", TEXT),
    SHAPE(struct access, project_id, "project_id", TEXT),
    SHAPES_END,
};
static const struct shape access_shape = { NULL, access_keys };

static int list_access(struct request *request, struct error *err) {
    const struct volume_type *type = request->object;
    const char **projects;
    int count;

    if (type->is_public)
        return error_set(err, ERROR_NOT_FOUND,
                         "Access list not available for public volume types.");
    count = type_access_list(&request->work, type, &projects, err);
    if (count < 0)
        return -1;
    answer_open(request);
    for (int i = 0; i < count; i++)
        shape_put(request, &access_shape, &(struct access){ type->id, projects[i] }, 0);
    answer_close(request);
    return 0;
}

struct access_body {
    const char *project;
};

static const struct field access_fields[] = {
    FIELD_TEXT(struct access_body, project, "project", FIELD_REQUIRED, 1, 255),
    FIELDS_END,
};

static int add_access(struct request *request, struct error *err) {
    const struct access_body *body = request->body;

    return type_access_add(&request->work, request->object, body->project, err);
}

static int remove_access(struct request *request, struct error *err) {
    const struct access_body *body = request->body;

    return type_access_remove(&request->work, request->object, body->project, err);
}

/* clang-format off */
#define RULE "volume_extension:"
#define TYPE(method_, path_, rule_, handler_, status_) \
    .method = method_, .path = "/types/{id}" path_, .resource = &type_resource, .rule = RULE rule_, \
    .handler = handler_, .status = status_

const struct route type_routes[] = {
    { .method = "GET", .path = "/types", .resource = &type_resource,
      .rule = RULE "type_get_all", .handler = resource_list, .status = 200 },
    { .method = "POST", .path = "/types", .rule = RULE "type_create", .wrapper = "volume_type",
      BODY(create_fields, struct type_body), ANSWER("volume_type", type_shape),
      .handler = create_type, .status = 200 },
    { .method = "GET", .path = "/types/default", .rule = RULE "type_get",
      ANSWER("volume_type", type_shape), .handler = show_default_type, .status = 200 },
    { TYPE("GET", "", "type_get", resource_show, 200) },
    { TYPE("PUT", "", "type_update", update_type, 200), .wrapper = "volume_type",
      BODY(update_fields, struct type_body), ANSWER("volume_type", type_shape) },
    { TYPE("DELETE", "", "type_delete", delete_type, 202), .flags = ROUTE_BARE },

    { TYPE("GET", "/extra_specs", "types_extra_specs:index", specs_list, 200),
      ANSWER("extra_specs", shape_pairs) },
    { TYPE("POST", "/extra_specs", "types_extra_specs:create", specs_add, 200),
      BODY(specs_fields, struct spec_body), ANSWER("extra_specs", shape_pairs), .flags = ROUTE_NO_WRAPPER },
    { TYPE("GET", "/extra_specs/{key}", "types_extra_specs:show", specs_show, 200),
      ANSWER(NULL, shape_pairs) },
    { TYPE("PUT", "/extra_specs/{key}", "types_extra_specs:update", specs_set, 200),
      BODY(spec_fields, struct spec_body), ANSWER(NULL, shape_pairs),
      .flags = ROUTE_ONE_FIELD },
    { TYPE("DELETE", "/extra_specs/{key}", "types_extra_specs:delete", specs_remove, 202),
      .flags = ROUTE_BARE },

    { TYPE("GET", "/os-volume-type-access", "volume_type_access:get_all_for_type", list_access,
           200), ANSWER("volume_type_access", access_shape), .flags = ROUTE_MANY },
    ABSENT("POST", "/types/{id}/os-volume-type-access"),
    ABSENT("PUT", "/types/{id}/os-volume-type-access"),
    ABSENT("DELETE", "/types/{id}/os-volume-type-access"),
    { TYPE("POST", "/action", "volume_type_access:addProjectAccess", add_access, 202),
      .action = "addProjectAccess", BODY(access_fields, struct access_body) },
    { TYPE("POST", "/action", "volume_type_access:removeProjectAccess", remove_access, 202),
      .action = "removeProjectAccess", BODY(access_fields, struct access_body) },
    ROUTES_END
};
/* clang-format on */
