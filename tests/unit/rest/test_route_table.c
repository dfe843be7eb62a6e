#include "rest/metadata.h"
#include "rest/route_table.h"
#include "tests/lib/check_main.h"

#include <string.h>

/* clang-format off */
static const struct route good[] = {
    { .method = "GET", .path = "/things" },
    { .method = "GET", .path = "/things/{id}" },
    { .method = "GET", .path = "/things/{id}/specs/{key}" },
    { .method = "GET", .path = "/things/detail" },
    { .method = "PUT", .path = "/things/{id}" },
    { .method = "GET", .path = "/things/{id}/detail" },
    { .method = "GET", .path = "/things/default/{key}" },
    { .method = "POST", .path = "/things/{id}/action", .action = "one" },
    { .method = "POST", .path = "/things/{id}/action", .action = "two" },
    { .method = "GET", .path = "/things/{id}/action" },
    ROUTES_END,
};
/* clang-format on */

static const struct route *find(const struct route_table *table, const char *method,
                                const char *path) {
    autoarena struct arena *arena = arena_new();
    struct route_match match = { .route = NULL };
    struct url_path split;

    ck_assert(url_split(arena, path, &split));
    if (!route_table_find(table, arena, method, &split, &match))
        return NULL;
    if (match.route)
        return match.route;
    return route_node_action(match.node, "two");
}

static void expect(const struct route_table *table, const char *method, const char *path,
                   const char *pattern) {
    const struct route *route = find(table, method, path);

    ck_assert_msg((route != NULL) == (pattern != NULL), "%s %s", method, path);
    if (pattern)
        ck_assert_str_eq(route->path, pattern);
}

START_TEST(literal_segments_win_over_parameters) {
    const struct route *const arrays[] = { good, NULL };
    struct route_table *table;
    struct error err;

    ck_assert_int_eq(route_table_new(arrays, &table, &err), 0);
    expect(table, "GET", "/things", "/things");
    expect(table, "HEAD", "/things", "/things");
    expect(table, "GET", "/things/detail", "/things/detail");
    expect(table, "PUT", "/things/detail", "/things/{id}");
    expect(table, "GET", "/things/x", "/things/{id}");
    expect(table, "GET", "/things/default/x", "/things/default/{key}");
    expect(table, "GET", "/things/x/detail", "/things/{id}/detail");
    expect(table, "POST", "/things/x/action", "/things/{id}/action");
    expect(table, "GET", "/things/x/action", "/things/{id}/action");
    expect(table, "DELETE", "/things/x/action", NULL);
    expect(table, "GET", "/things/x/y", NULL);
    expect(table, "GET", "/nothings", NULL);
    ck_assert(route_table_knows(table, "things"));
    ck_assert(!route_table_knows(table, "thing"));
    ck_assert_str_eq(find(table, "POST", "/things/x/action")->action, "two");
    route_table_free(table);
}
END_TEST

static void refused(const struct route *routes, const char *why) {
    const struct route *const arrays[] = { good, routes, NULL };
    struct route_table *table = NULL;
    struct error err = { .kind = ERROR_NONE };

    ck_assert_int_eq(route_table_new(arrays, &table, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_INTERNAL);
    ck_assert_msg(strstr(err.message, why), "%s", err.message);
    ck_assert_ptr_null(table);
}

#define ROUTES(...) ((const struct route[]){ { __VA_ARGS__ }, ROUTES_END })

START_TEST(rows_that_cannot_work_are_refused) {
    static const struct resource_metadata read_only = { .reserves = NULL };
    static const struct resource plain = { .name = "plain" }, fixed = { .metadata = &read_only };

    refused(ROUTES(.method = "GET", .path = "/things"), "twice");
    refused(ROUTES(.method = "POST", .path = "/things/{id}/action", .action = "one"),
            "one is defined");
    refused(ROUTES(.method = "GET", .path = "things"), "cannot be matched");
    refused(ROUTES(.method = "GET", .path = "/{id}"), "cannot be matched");
    refused(ROUTES(.method = "GET", .path = "/a/"), "cannot be matched");
    refused(ROUTES(.method = "GET", .path = "/a/b/c/d/e/f/g/h/i"), "cannot be matched");
    refused(ROUTES(.method = "GET", .path = "/a/{name}"), "unknown parameter");
    refused(
        ROUTES(.method = "GET", .path = "/a/{id}", .resource = &plain, .handler = resource_show),
        "without a shape");
    refused(
        (const struct route[]){ METADATA_ROUTES(plain, "/a/{id}", 0, "", "", "", ""), ROUTES_END },
        "without metadata");
    refused(
        (const struct route[]){ METADATA_ROUTES(fixed, "/a/{id}", 0, "", "", "", ""), ROUTES_END },
        "without metadata");
}
END_TEST

/* Routes that read many rows although their path names no list. */
static bool is_sum(const char *path) {
    static const char *const sums[] = { "/volumes/summary", "/os-quota-sets/{id}", "/limits",
                                        "/os-hosts/{id}",   "/groups/{id}",        NULL };

    for (const char *const *sum = sums; *sum; sum++)
        if (strcmp(path, *sum) == 0)
            return true;
    return false;
}

static bool is_list(const struct route *route) {
    return route->resource && !strstr(route->path, "{id}") && !strstr(route->path, "/default");
}

START_TEST(lists_and_sums_are_distinguished_from_single_reads) {
    unsigned many = 0;

    for (const struct route *const *routes = api_routes; *routes; routes++)
        for (const struct route *route = *routes; route->method; route++) {
            if (strcmp(route->method, "GET") != 0 || route->flags & ROUTE_ABSENT)
                continue;
            if (is_list(route) || is_sum(route->path))
                ck_assert_msg(route_reads_many(route), "%s", route->path);
            many += route_reads_many(route);
            ck_assert_msg(route->handler != resource_show ||
                              strcmp(route->path, "/groups/{id}") == 0 || !route_reads_many(route),
                          "%s", route->path);
        }
    ck_assert_uint_gt(many, 30);
}
END_TEST

CHECK_MAIN("route_table", literal_segments_win_over_parameters, rows_that_cannot_work_are_refused,
           lists_and_sums_are_distinguished_from_single_reads)
