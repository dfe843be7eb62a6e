/*
 * Default volume types of projects.  The API cannot check whether a project exists: any id is
 * accepted.
 */
#include "model/type/default_type.h"

#include "api/routes.h"
#include "model/type/type.h"
#include "rest/answer.h"

#include <string.h>

static const struct shape_key keys[] = {
    SHAPE(struct default_type, project_id, "project_id", TEXT),
    SHAPE(struct default_type, volume_type_id, "volume_type_id", TEXT),
    SHAPES_END,
};
static const struct shape shape = { "default_type", keys };

static int list_defaults(struct request *request, struct error *err) {
    struct default_type *types;
    int count = default_type_list(&request->work, &types, err);

    if (count < 0)
        return -1;
    answer_rows(request, types, (unsigned)count, sizeof(*types), 0);
    return 0;
}

static int show_default(struct request *request, struct error *err) {
    struct default_type type;

    if (error_if_none(default_type_get(&request->work, request->id, &type, err), err,
                      ERROR_NOT_FOUND, "Default type for project %s not found.", request->id) < 0)
        return -1;
    answer_row(request, &type, 0);
    return 0;
}

struct default_body {
    const char *type; /* id or name */
};

static const struct field default_fields[] = {
    FIELD_NAME1(struct default_body, type, "volume_type", FIELD_REQUIRED),
    FIELDS_END,
};

#define PROJECT_ID_MOST 255

static int set_default(struct request *request, struct error *err) {
    const struct default_body *body = request->body;
    struct default_type set = { .project_id = request->id };
    struct volume_type type;

    if (strlen(request->id) > PROJECT_ID_MOST)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid project id: it has more than %d characters.", PROJECT_ID_MOST);
    if (volume_type_find(&request->work, body->type, &type, err) < 0) {
        if (err->kind == ERROR_NOT_FOUND) /* it is in the body: no 404 */
            err->kind = ERROR_BAD_REQUEST;
        return -1;
    }
    if (default_type_set(&request->work, request->id, type.id, err) < 0)
        return -1;
    set.volume_type_id = type.id;
    answer_row(request, &set, 0);
    return 0;
}

static int unset_default(struct request *request, struct error *err) {
    return default_type_unset(&request->work, request->id, err);
}

/* clang-format off */
#define DEFAULT(method_, path_, rule_, handler_, status_) \
    .method = method_, .path = "/default-types" path_, .since = MV_DEFAULT_TYPES, \
    .rule = "volume_extension:default_" rule_, .handler = handler_, .status = status_

const struct route default_type_routes[] = {
    { DEFAULT("GET", "", "get_all", list_defaults, 200),
      ANSWER("default_types", shape), .flags = ROUTE_MANY },
    { DEFAULT("GET", "/{id}", "get", show_default, 200), ANSWER("default_type", shape) },
    { DEFAULT("PUT", "/{id}", "set_or_update", set_default, 200), .wrapper = "default_type",
      BODY(default_fields, struct default_body), ANSWER("default_type", shape) },
    { DEFAULT("DELETE", "/{id}", "unset", unset_default, 204) },
    ROUTES_END
};
/* clang-format on */
