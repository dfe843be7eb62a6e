#include "common/scoria_headers.h"
#include "rest/openapi.private.h"

#include <string.h>

static json_t *parameter_new(const char *name, const char *place, json_t *schema, unsigned since) {
    json_t *parameter = json_pack("{s:s, s:s, s:o}", "name", name, "in", place, "schema", schema);

    openapi_since(parameter, since);
    return parameter;
}

static json_t *typed(const char *type) {
    return json_pack("{s:s}", "type", type);
}

static void add_query(json_t *list, const char *name, json_t *schema, unsigned since) {
    json_array_append_new(list, parameter_new(name, "query", schema, since));
}

/* ---- lists ---- */

static unsigned later(unsigned minor, unsigned other) {
    return minor > other ? minor : other;
}

static void add_page(json_t *list, const struct resource *resource) {
    unsigned since = resource->query_since;
    json_t *keys;

    add_query(list, "limit", json_pack("{s:s, s:i}", "type", "integer", "minimum", 0), since);
    add_query(list, "marker", typed("string"), since);
    add_query(list, "offset", json_pack("{s:s, s:i}", "type", "integer", "minimum", 0), since);
    keys = json_array();
    json_array_append_new(keys, json_string("created_at"));
    json_array_append_new(keys, json_string("id"));
    for (const struct resource_column *column = resource->columns; column->name; column++)
        if (strcmp(column->name, "created_at") != 0 && strcmp(column->name, "id") != 0)
            json_array_append_new(keys, json_string(column->name));
    add_query(list, "sort", typed("string"), resource->query_since);
    add_query(list, "sort_key", json_pack("{s:o}", "enum", keys), resource->query_since);
    add_query(list, "sort_dir", json_pack("{s:[ss]}", "enum", "asc", "desc"),
              resource->query_since);
    if (resource->by_project)
        add_query(list, "all_tenants", typed("string"), since);
    if (resource->all_by) /* an agent's list of its node */
        json_array_append_new(list, parameter_new(INSTANCE_HEADER, "header", typed("string"), 0));
    if (resource->watch) {
        add_query(list, "watch", typed("boolean"), since);
        json_object_set_new(json_array_get(list, json_array_size(list) - 1), "description",
                            json_string("The answer is a line of JSON for each change, {type, "
                                        "object}, for as long as it lasts."));
        add_query(list, "resourceVersion", typed("string"), since);
        add_query(list, "timeoutSeconds", typed("integer"), since);
    }
    if (resource->counted)
        add_query(list, "with_count", typed("boolean"), later(since, MV_WITH_COUNT));
}

void openapi_add_queries(json_t *list, const struct route *route) {
    for (const struct route_query *query = route->queries; query && query->name; query++) {
        json_t *parameter;

        if (query->place == IN_ANSWER)
            continue;
        parameter = parameter_new(query->name, query->place == IN_HEADER ? "header" : "query",
                                  typed(query->is_boolean ? "boolean" : "string"), query->since);
        if (route->action)
            json_object_set_new(parameter, "description", json_sprintf("Of %s.", route->action));
        json_array_append_new(list, parameter);
    }
}

json_t *openapi_parameters(const struct route *route) {
    json_t *list = json_pack("[{s:s}]", "$ref", "#/components/parameters/microversion");
    const struct resource *resource = route->resource;

    for (const char *at = route->path; (at = strchr(at, '{'));) {
        size_t length = strcspn(++at, "}");
        json_t *name = json_stringn(at, length);
        json_t *place = parameter_new(json_string_value(name), "path", typed("string"), 0);

        json_object_set_new(place, "required", json_true());
        json_array_append_new(list, place);
        json_decref(name);
    }
    if (route->handler == resource_list || route->handler == resource_list_detail) {
        add_page(list, resource);
        for (const struct resource_column *column = resource->columns; column->name; column++) {
            add_query(list, column->name, typed(column->type == COLUMN_INT ? "integer" : "string"),
                      later(column->since, resource->query_since));
            if (!column->for_all)
                json_object_set_new(json_array_get(list, json_array_size(list) - 1), "description",
                                    json_string("For administrators."));
        }
        if (resource->other_filter)
            add_query(list, resource->other_filter, typed("string"), resource->query_since);
    }
    openapi_add_queries(list, route);
    return list;
}

json_t *openapi_shared_parameters(void) {
    return json_pack("{s:{s:s, s:s, s:s, s:{s:s, s:s}}}", "microversion", "name",
                     "OpenStack-API-Version", "in", "header", "description",
                     "\"volume 3.N\" or \"volume latest\"; without it a request is one of 3.0.",
                     "schema", "type", "string", "pattern", "volume (3\\.[0-9]+|latest)");
}
