#include "rest/openapi.private.h"

/* ---- shapes ---- */

static json_t *keys_schema(const struct shape *shape, json_t *schemas);

/* As a reference to its name among the schemas, or inline. */
static json_t *shape_schema(const struct shape *shape, json_t *schemas) {
    if (!shape->name)
        return keys_schema(shape, schemas);
    if (!json_object_get(schemas, shape->name)) {
        json_object_set_new(schemas, shape->name, json_null()); /* ends the recursion of a nested
                                                                 * shape */
        json_object_set_new(schemas, shape->name, keys_schema(shape, schemas));
    }
    return json_pack("{s:o}", "$ref", json_sprintf("#/components/schemas/%s", shape->name));
}

static json_t *list_of(json_t *items) {
    return json_pack("{s:s, s:o}", "type", "array", "items", items);
}

static json_t *value_schema(const struct shape_key *key, json_t *schemas) {
    static const char *const types[] = { [SHAPE_TEXT] = "string",
                                         [SHAPE_INT] = "integer",
                                         [SHAPE_BOOL] = "boolean",
                                         [SHAPE_TIME] = "string",
                                         [SHAPE_NULL] = "null" };

    switch (key->type) {
    case SHAPE_ANY:
        return json_object();
    case SHAPE_PAIRS:
        return shape_schema(&shape_pairs, schemas);
    case SHAPE_OBJECT:
        return shape_schema(key->of, schemas);
    case SHAPE_LIST:
        return list_of(key->of ? shape_schema(key->of, schemas)
                               : json_pack("{s:[ss]}", "type", "string", "null"));
    default:
        break;
    }
    if (key->of)
        return json_pack("{s:[{s:s}, o]}", "anyOf", "type", "integer",
                         shape_schema(key->of, schemas));
    return key->flags & SHAPE_NULLABLE ? json_pack("{s:[ss]}", "type", types[key->type], "null")
                                       : json_pack("{s:s}", "type", types[key->type]);
}

static bool is_always_there(const struct shape_key *key) {
    return !key->has && key->rights == 0 && !(key->flags & SHAPE_MAYBE);
}

static json_t *keys_schema(const struct shape *shape, json_t *schemas) {
    json_t *properties = json_object(), *required = json_array();
    json_t *schema = json_pack("{s:s, s:o, s:o, s:b}", "type", "object", "properties", properties,
                               "required", required, "additionalProperties", 0);

    for (const struct shape_key *key = shape->keys; key->name; key++) {
        json_t *value = value_schema(key, schemas);

        if (key->flags & SHAPE_OTHERS) {
            json_object_set_new(schema, "additionalProperties", value);
            continue;
        }
        openapi_since(value, key->since);
        json_object_set_new(properties, key->name, value);
        if (is_always_there(key) && key->since == 0)
            json_array_append_new(required, json_string(key->name));
        else if (is_always_there(key))
            openapi_note(value, "required", json_true());
    }
    return schema;
}

/* ---- responses ---- */

/* {"<key>": …}, without other members. */
static json_t *only(const char *key, json_t *value) {
    return json_pack("{s:s, s:{s:o}, s:[s], s:b}", "type", "object", "properties", key, value,
                     "required", key, "additionalProperties", 0);
}

/* A page: its rows, the link to the next one, and the requested count. */
static json_t *list_schema(const struct resource *resource, bool detail, json_t *schemas) {
    const struct shape *shape =
        !detail && resource->short_shape ? resource->short_shape : resource->shape;
    json_t *schema = only(resource->plural, list_of(shape_schema(shape, schemas)));
    json_t *properties = json_object_get(schema, "properties");

    if (resource->links_word)
        json_object_set_new(properties, resource->links_word,
                            list_of(shape_schema(&shape_link, schemas)));
    if (resource->counted) {
        json_t *count = json_pack("{s:s}", "type", "integer");

        openapi_since(count, MV_WITH_COUNT);
        json_object_set_new(properties, "count", count);
    }
    if (resource->watch) {
        json_object_set_new(properties, "metadata",
                            only("resourceVersion", json_pack("{s:s}", "type", "string")));
        json_array_append_new(json_object_get(schema, "required"), json_string("metadata"));
    }
    return schema;
}

/* NULL: no body. */
static json_t *answer_schema(const struct route *route, json_t *schemas) {
    json_t *schema;

    if (route->flags & ROUTE_TEXT)
        return json_object();
    if (route->handler == resource_list || route->handler == resource_list_detail)
        return list_schema(route->resource, route->handler == resource_list_detail, schemas);
    if (route->handler == resource_show)
        return only(route->resource->name, shape_schema(route->resource->shape, schemas));
    if (!route->shape)
        return NULL;
    schema = shape_schema(route->shape, schemas);
    if (route->flags & ROUTE_MANY)
        schema = list_of(schema);
    return route->answer ? only(route->answer, schema) : schema;
}

static json_t *response_of(json_t *responses, int status) {
    char text[8];
    json_t *response;

    snprintf(text, sizeof(text), "%d", status);
    response = json_object_get(responses, text);
    if (!response) {
        response = json_pack("{s:s}", "description", "Done, or accepted.");
        json_object_set_new(responses, text, response);
    }
    return response;
}

void openapi_answer(json_t *responses, const struct route *route, json_t *schemas) {
    json_t *schema, *response;

    if (route->status >= error_http_status(ERROR_BAD_REQUEST))
        return; /* always refused */
    schema = answer_schema(route, schemas);
    response = response_of(responses, route->status);
    if (route->status_later)
        response_of(responses, route->status_later);
    for (const struct route_query *query = route->queries; query && query->name; query++)
        if (query->place == IN_ANSWER)
            json_object_set_new(
                response, "headers",
                json_pack("{s:{s:{s:s}}}", query->name, "schema", "type", "string"));
    if (!schema)
        return;
    if (route->action)
        openapi_note(schema, "action-name", json_string(route->action));
    openapi_content(response, route, schema);
}

/* ---- faults ---- */

/* {"code": …, "message": …}, and further members of a few. */
static json_t *fault_schema(void) {
    return json_pack("{s:s, s:{s:{s:s}, s:{s:s}, s:{s:s}, s:{s:s}}, s:[ss], s:b}", "type", "object",
                     "properties", "code", "type", "integer", "message", "type", "string", "title",
                     "type", "string", "retryAfter", "type", "string", "required", "code",
                     "message", "additionalProperties", 0);
}

/* One of them, by its name. */
json_t *openapi_faults(void) {
    json_t *names = json_pack("{s:o}", "error", fault_schema());

    for (enum error_kind kind = ERROR_NONE + 1; kind < ERROR_KINDS; kind++)
        if (kind != ERROR_UNAUTHORIZED)
            json_object_set_new(names, error_fault(kind), fault_schema());
    return json_pack("{s:{s:s, s:{s:{s:{s:s, s:o, s:i, s:i, s:b}}}}}", "fault", "description",
                     "It was refused or has failed; nothing has changed.", "content",
                     "application/json", "schema", "type", "object", "properties", names,
                     "minProperties", 1, "maxProperties", 1, "additionalProperties", 0);
}
