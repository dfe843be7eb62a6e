#include "api/routes.h"
#include "api/type/group_type_resource.h"
#include "rest/answer.h"
#include "rest/specs.h"

/* ---- show, create, update, delete ---- */

static int show_default_type(struct request *request, struct error *err) {
    struct group_type type;

    if (group_type_default(&request->work, &type, err) < 0)
        return -1;
    group_type_answer(request, &type);
    return 0;
}

struct type_body {
    const char *name, *description;
    const json_t *specs;
    bool is_public;
};

static const struct field create_fields[] = {
    FIELD_NAME1(struct type_body, name, "name", FIELD_REQUIRED),
    FIELD_DESC(struct type_body, description, "description", 0),
    FIELD_META(struct type_body, specs, "group_specs", FIELD_NULLABLE),
    FIELD_BOOL(struct type_body, is_public, "is_public", 0),
    FIELDS_END,
};

static int create_type(struct request *request, struct error *err) {
    const struct type_body *body = request->body;
    bool is_public = !json_has(request->json, "is_public") || body->is_public;
    const struct pairs specs = request_pairs(request, body->specs);
    struct group_type type;

    if (group_type_create(&request->work, body->name, body->description, is_public, &specs, &type,
                          err) < 0)
        return -1;
    group_type_answer(request, &type);
    return 0;
}

static const struct field update_fields[] = {
    FIELD_TEXT(struct type_body, name, "name", FIELD_NULLABLE | FIELD_NOT_BLANK, 1, 255),
    FIELD_DESC(struct type_body, description, "description", 0),
    FIELD_BOOL(struct type_body, is_public, "is_public", 0),
    FIELDS_END,
};

static int check_update(struct request *request, struct error *err) {
    const struct type_body *body = request->body;

    if (body->name || body->description || json_has(request->json, "is_public"))
        return 0;
    return error_set(err, ERROR_BAD_REQUEST,
                     "Specify group type name, description, is_public or a combination thereof.");
}

static int update_type(struct request *request, struct error *err) {
    const struct type_body *body = request->body;
    bool set_public = json_has(request->json, "is_public");
    struct group_type *type = request->object;

    if (group_type_update(&request->work, type, body->name, body->description,
                          set_public ? body->is_public : -1, err) < 0 ||
        group_type_row(&request->work, type->id, type, err) < 0)
        return -1;
    group_type_answer(request, type);
    return 0;
}

static int delete_type(struct request *request, struct error *err) {
    return group_type_delete(&request->work, request->object, err);
}

/* ---- group specs ---- */

static const struct field specs_fields[] = { SPECS_FIELD("group_specs"), FIELDS_END };
static const struct field spec_fields[] = { SPEC_FIELD("group_specs"), FIELDS_END };

/* clang-format off */
#define TYPES(method_, path_, handler_, status_) \
    .method = method_, .path = "/group_types" path_, .since = MV_GROUP_TYPES, \
    .resource = &group_type_resource, .handler = handler_, .status = status_
#define ONE ANSWER("group_type", group_type_shape)

const struct route group_type_routes[] = {
    { TYPES("GET", "", resource_list, 200) },
    { TYPES("POST", "", create_type, 202), .rule = "group:group_types:create",
      .wrapper = "group_type", BODY(create_fields, struct type_body), ONE },
    { TYPES("GET", "/default", show_default_type, 200), ONE },
    { TYPES("GET", "/{id}", resource_show, 200) },
    { TYPES("PUT", "/{id}", update_type, 200), .rule = "group:group_types:update",
      .wrapper = "group_type", BODY(update_fields, struct type_body), .check = check_update,
      ONE },
    { TYPES("DELETE", "/{id}", delete_type, 202), .rule = "group:group_types:delete",
      .flags = ROUTE_BARE },

    { TYPES("GET", "/{id}/group_specs", specs_list, 200),
      .rule = "group:group_types_specs:get_all", ANSWER("group_specs", shape_pairs) },
    { TYPES("POST", "/{id}/group_specs", specs_add, 202),
      .rule = "group:group_types_specs:create",
      BODY(specs_fields, struct spec_body), ANSWER("group_specs", shape_pairs), .flags = ROUTE_NO_WRAPPER },
    { TYPES("GET", "/{id}/group_specs/{key}", specs_show, 200),
      .rule = "group:group_types_specs:get", ANSWER(NULL, shape_pairs) },
    { TYPES("PUT", "/{id}/group_specs/{key}", specs_set, 200),
      .rule = "group:group_types_specs:update", BODY(spec_fields, struct spec_body),
      ANSWER(NULL, shape_pairs), .flags = ROUTE_ONE_FIELD },
    { TYPES("DELETE", "/{id}/group_specs/{key}", specs_remove, 202),
      .rule = "group:group_types_specs:delete", .flags = ROUTE_BARE },
    ROUTES_END,
};
/* clang-format on */
