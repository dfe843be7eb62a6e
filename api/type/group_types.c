#include "api/routes.h"
#include "model/type/group_type.h"
#include "rest/answer.h"
#include "rest/page_filter.h"
#include "rest/request.h"
#include "rest/shape.h"
#include "rest/specs.h"

static const struct resource_column columns[] = {
    { "id", "t.id", COLUMN_TEXT, false, 0 },
    { "name", "t.name", COLUMN_FILLED, false, 0 },
    { "description", "t.description", COLUMN_TEXT, false, 0 },
    { "is_public", "t.is_public", COLUMN_BOOL, false, 0 },
    { "created_at", "t.created_at", COLUMN_TIME, false, 0 },
    { "updated_at", "t.updated_at", COLUMN_TIME, false, 0 },
    { .name = NULL },
};

/* is_public is the only one, and page_filter_public() reads it. */
static int filter(struct request *request, struct page *page, const char *key, const char *value,
                  struct error *err) {
    (void)request, (void)page, (void)key, (void)value, (void)err;
    return 1;
}

RESOURCE_LIST(list, struct group_type, group_type_list)

static void *load(struct request *request, const char *id, struct policy_target *ret_owner,
                  struct error *err) {
    struct group_type *type = arena_alloc(request->work.arena, sizeof(*type));

    (void)ret_owner;
    return group_type_get(&request->work, id, type, err) < 0 ? NULL : type;
}

enum { SEES_SPECS = 1 };

/* clang-format off */
static const struct shape_key keys[] = {
    SHAPE(struct group_type, id,          "id",          TEXT),
    SHAPE(struct group_type, name,        "name",        TEXT),
    SHAPE(struct group_type, description, "description", TEXT, .flags = SHAPE_NULLABLE),
    SHAPE(struct group_type, is_public,   "is_public",   BOOL),
    SHAPE(struct group_type, specs,       "group_specs", PAIRS, .rights = SEES_SPECS),
    SHAPES_END,
};
/* clang-format on */
static const struct shape group_type_shape = { "group_type", keys };

static void view(struct request *request, const void *row) {
    unsigned *rights = request->view;

    if (!rights) {
        rights = request->view = arena_alloc(request->work.arena, sizeof *rights);
        *rights = request_allows(request, "group:access_group_types_specs", NULL) ? SEES_SPECS : 0;
    }
    shape_put(request, &group_type_shape, row, *rights);
}

/* In the route's form: {"group_type": …}. */
static void group_type_answer(struct request *request, const struct group_type *type) {
    answer_open(request);
    view(request, type);
    answer_close(request);
}

/* ---- specs ---- */

static int set_specs(struct work *work, const void *row, const struct pairs *specs,
                     struct error *err) {
    return group_type_specs_set(work, row, specs, err);
}

static int remove_spec(struct work *work, const void *row, const char *key, struct error *err) {
    return group_type_spec_delete(work, row, key, err);
}

static const struct resource_specs type_specs = {
    .owner = "Group Type",
    .what = "specs",
    .offset = offsetof(struct group_type, specs),
    .set = set_specs,
    .remove = remove_spec,
};

static const struct resource group_type_resource = {
    .name = "group_type",
    .plural = "group_types",
    .collection = "group_types",
    .label = "Group type",
    RESOURCE_ROW(struct group_type),

    .load = load,
    .unowned = true,

    .table = "group_types",
    .alias = "t",
    .columns = columns,
    .default_sort = "created_at",
    .links_word = "group_type_links",
    .visible = GROUP_TYPE_SHARED_WITH("?"),
    .filter = filter,
    .narrow = page_filter_public,
    .list = list,
    .view = view,
    .shape = &group_type_shape,

    .specs = &type_specs,
};

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
