#include "api/routes.h"
#include "rest/answer.h"

#include <string.h>

static void put_filters(struct request *request, const void *row) {
    const struct resource *resource = row;
    struct json_out *out = &request->out;

    out_begin_array(out);
    for (const struct resource_column *column = resource->columns; column->name; column++)
        if (column->for_all)
            out_text(out, column->name);
    if (resource->other_filter)
        out_text(out, resource->other_filter);
    out_end_array(out);
}

static const struct shape_key keys[] = {
    SHAPE(struct resource, name, "resource", TEXT),
    SHAPE_BY(put_filters, "filters", LIST),
    SHAPES_END,
};
static const struct shape shape = { NULL, keys };

static bool has_filters(const struct resource *resource) {
    bool found = resource->other_filter != NULL;

    for (const struct resource_column *column = resource->columns; column->name; column++)
        found |= column->for_all;
    return found;
}

/* Is it the row of its resource's list? */
static bool route_lists(const struct route *route) {
    return route->resource && strcmp(route->method, "GET") == 0 &&
           strcmp(route->path + 1, route->resource->collection) == 0 &&
           has_filters(route->resource);
}

static int list_filters(struct request *request, struct error *err) {
    const char *asked = request_query(request, "resource");

    (void)err;
    answer_open(request);
    for (const struct route *const *routes = api_routes; *routes; routes++)
        for (const struct route *route = *routes; route->method; route++)
            if (route_lists(route) && (!asked || strcmp(asked, route->resource->name) == 0))
                shape_put(request, &shape, route->resource, 0);
    answer_close(request);
    return 0;
}

static const struct route_query queries[] = { { .name = "resource" }, { .name = NULL } };

/* clang-format off */
const struct route resource_filter_routes[] = {
    { .method = "GET", .path = "/resource_filters", .since = MV_RESOURCE_FILTERS,
      .queries = queries, ANSWER("resource_filters", shape),
      .handler = list_filters, .status = 200, .flags = ROUTE_MANY },
    ABSENT("POST", "/resource_filters"),
    ABSENT("GET", "/resource_filters/{id}"),
    ABSENT("PUT", "/resource_filters/{id}"),
    ABSENT("DELETE", "/resource_filters/{id}"),
    ROUTES_END,
};
/* clang-format on */
