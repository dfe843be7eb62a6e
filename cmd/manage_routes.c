/*
 * scoria manage routes: the API as its tables have it; the reference in docs/api.md comes from
 * here.
 */
#include "api/routes.h"
#include "cmd/manage.h"
#include "common/arena.h"

#include <stdio.h>
#include <stdlib.h>

static void print_line(struct arena *arena, const struct route *route) {
    printf("%-6s  %-62s  %-5s  %s\n", route->method,
           route->action ? arena_format(arena, "%s  %s", route->path, route->action) : route->path,
           arena_format(arena, "3.%u", route->since), route->rule ? route->rule : "-");
}

static void add_object(struct arena *arena, const struct route *route, json_t *list) {
    json_array_append_new(list, json_pack("{ss ss ss? ss ss?}", "method", route->method, "path",
                                          route->path, "action", route->action, "since",
                                          arena_format(arena, "3.%u", route->since), "policy",
                                          route->rule));
}

int manage_routes(const struct config *config, bool json) {
    autoarena struct arena *arena = arena_new();
    json_t *list = json_array();

    (void)config;
    if (!json)
        printf("%-6s  %-62s  %-5s  %s\n", "METHOD", "PATH BELOW /v3, ACTION", "SINCE", "POLICY");
    for (unsigned i = 0; api_routes[i]; i++)
        for (const struct route *route = api_routes[i]; route->method; route++) {
            if (route->flags & ROUTE_ABSENT)
                continue;
            if (json)
                add_object(arena, route, list);
            else
                print_line(arena, route);
        }
    if (json)
        manage_print_json(list);
    else
        json_decref(list);
    return EXIT_SUCCESS;
}
