#include "api/page.h"
#include "api/routes.h"

#include <string.h>

static const struct page_rules *const lists[] = {
    &volume_list_rules, &attachment_list_rules, &message_list_rules, &type_list_rules, NULL,
};

static void begin_resource(struct json_out *out, const char *name) {
    out_begin_object(out);
    out_put_text(out, "resource", name);
    out_key(out, "filters");
    out_begin_array(out);
}

static void end_resource(struct json_out *out) {
    out_end_array(out);
    out_end_object(out);
}

static void put_list(struct json_out *out, const struct page_rules *rules) {
    begin_resource(out, rules->resource);
    for (const struct page_column *column = rules->columns; column->name; column++)
        if (column->for_all)
            out_text(out, column->name);
    if (rules->other_filter)
        out_text(out, rules->other_filter);
    end_resource(out);
}

/* Pools are no rows of one table: see pools.c. */
static void put_pools(struct json_out *out) {
    begin_resource(out, "pool");
    out_text(out, "name");
    out_text(out, "volume_type");
    end_resource(out);
}

static int list_filters(struct request *request, struct error *err) {
    const char *asked = request_query(request, "resource");
    struct json_out *out = &request->out;

    (void)err;
    out_begin_object(out);
    out_key(out, "resource_filters");
    out_begin_array(out);
    for (const struct page_rules *const *rules = lists; *rules; rules++)
        if (!asked || strcmp(asked, (*rules)->resource) == 0)
            put_list(out, *rules);
    if (!asked || strcmp(asked, "pool") == 0)
        put_pools(out);
    out_end_array(out);
    out_end_object(out);
    return 0;
}

/* clang-format off */

const struct route resource_filter_routes[] = {
    { .method = "GET", .path = "/resource_filters", .since = MV_RESOURCE_FILTERS,
      .handler = list_filters, .status = 200 },
    ABSENT("POST", "/resource_filters"),
    ABSENT("GET", "/resource_filters/{id}"),
    ABSENT("PUT", "/resource_filters/{id}"),
    ABSENT("DELETE", "/resource_filters/{id}"),
    ROUTES_END,
};
/* clang-format on */
