#include "api/routes.h"

#include <string.h>

static void put_filters(struct json_out *out, const struct resource *resource) {
    out_begin_object(out);
    out_put_text(out, "resource", resource->name);
    out_key(out, "filters");
    out_begin_array(out);
    for (const struct resource_column *column = resource->columns; column->name; column++)
        if (column->for_all)
            out_text(out, column->name);
    if (resource->other_filter)
        out_text(out, resource->other_filter);
    out_end_array(out);
    out_end_object(out);
}

static bool has_filters(const struct resource *resource) {
    bool found = resource->other_filter != NULL;

    for (const struct resource_column *column = resource->columns; column->name; column++)
        found |= column->for_all;
    return found;
}

/* Is it the row that lists its resource? */
static bool route_lists(const struct route *route) {
    return route->resource && strcmp(route->method, "GET") == 0 &&
           strcmp(route->path + 1, route->resource->collection) == 0 &&
           has_filters(route->resource);
}

static int list_filters(struct request *request, struct error *err) {
    const char *asked = request_query(request, "resource");
    struct json_out *out = &request->out;

    (void)err;
    out_begin_object(out);
    out_key(out, "resource_filters");
    out_begin_array(out);
    for (const struct route *const *routes = api_routes; *routes; routes++)
        for (const struct route *route = *routes; route->method; route++)
            if (route_lists(route) && (!asked || strcmp(asked, route->resource->name) == 0))
                put_filters(out, route->resource);
    out_end_array(out);
    out_end_object(out);
    return 0;
}

static const struct route_query queries[] = { { .name = "resource" }, { .name = NULL } };

/* clang-format off */
const struct route resource_filter_routes[] = {
    { .method = "GET", .path = "/resource_filters", .since = MV_RESOURCE_FILTERS,
      .queries = queries, .handler = list_filters, .status = 200 },
    ABSENT("POST", "/resource_filters"),
    ABSENT("GET", "/resource_filters/{id}"),
    ABSENT("PUT", "/resource_filters/{id}"),
    ABSENT("DELETE", "/resource_filters/{id}"),
    ROUTES_END,
};
/* clang-format on */
