#include "rest/openapi.private.h"

#include "json/field_schema.h"

static json_t *fields_schema(const struct route *route) {
    json_t *properties = json_object(), *required = json_array();
    json_t *schema = json_pack("{s:s, s:o}", "type", "object", "properties", properties);

    for (const struct field *field = route->fields; field->type != FIELD_TYPE_END; field++) {
        json_t *property = field_schema(field);

        if (field->flags & FIELD_OTHERS) {
            json_object_set_new(schema, "additionalProperties", property);
            continue;
        }
        openapi_since(property, field->since);
        json_object_set_new(properties, field->name, property);
        if (field->flags & FIELD_REQUIRED)
            json_array_append_new(required, json_string(field->name));
    }
    if (json_array_size(required) > 0)
        json_object_set(schema, "required", required);
    json_decref(required);
    if (route->flags & ROUTE_STRICT_LATE)
        openapi_note(schema, "strict-since", json_sprintf("3.%d", MV_STRICT_VOLUME_BODIES));
    else if (!(route->flags & ROUTE_OPEN) && !json_object_get(schema, "additionalProperties"))
        json_object_set_new(schema, "additionalProperties", json_false());
    if (route->flags & ROUTE_NULL_VALUE)
        json_object_set_new(schema, "type", json_pack("[ss]", "object", "null"));
    return schema;
}

/* {"<key>": …} */
static json_t *wrapped(const char *key, json_t *inner, bool open) {
    json_t *schema = json_pack("{s:s, s:{s:o}, s:[s]}", "type", "object", "properties", key, inner,
                               "required", key);

    if (!open)
        json_object_set_new(schema, "additionalProperties", json_false());
    return schema;
}

json_t *openapi_body(const struct route *route) {
    json_t *schema;

    if (!route_wants_body(route))
        return NULL;
    if (route->flags & ROUTE_ONE_FIELD)
        schema = field_schema(route->fields);
    else if (route->fields && !(route->flags & ROUTE_ANY_VALUE))
        schema = fields_schema(route);
    else
        schema = json_object();
    if (route->action) {
        schema = wrapped(route->action, schema, false);
        openapi_note(schema, "action-name", json_string(route->action));
        openapi_since(schema, route->since);
    } else if (route->wrapper && !(route->flags & ROUTE_NO_WRAPPER)) {
        schema = wrapped(route->wrapper, schema, route->flags & ROUTE_OPEN_OUTER);
        if (route->flags & ROUTE_EMPTY_BODY)
            json_object_del(schema, "required");
    }
    return schema;
}
