/*
 * scoria manage routes: the API by its tables; source of the reference in docs/api.md.
 */
#include "cmd/manage.h"
#include "cmd/table.h"
#include "common/arena.h"
#include "rest/route.h"

#include <stdlib.h>

int manage_routes(const struct config *config, bool json) {
    autoarena struct arena *arena = arena_new();
    json_t *list = json_array();
    static const char *const names[] = { "METHOD", "PATH BELOW /v3, ACTION", "SINCE", "POLICY",
                                         NULL };
    struct table table;

    (void)config;
    table_begin(&table, arena, names, 0);
    for (unsigned i = 0; api_routes[i]; i++)
        for (const struct route *route = api_routes[i]; route->method; route++) {
            if (route->flags & ROUTE_ABSENT)
                continue;
            if (json) {
                json_array_append_new(list,
                                      json_pack("{ss ss ss? ss ss?}", "method", route->method,
                                                "path", route->path, "action", route->action,
                                                "since", arena_format(arena, "3.%u", route->since),
                                                "policy", route->rule));
            } else {
                const char *path = route->action
                                       ? arena_format(arena, "%s  %s", route->path, route->action)
                                       : route->path;

                table_add(&table, (const char *const[]){ route->method, path,
                                                         arena_format(arena, "3.%u", route->since),
                                                         route->rule });
            }
        }
    if (!json)
        table_print(&table);
    if (json)
        manage_print_json(list);
    else
        json_decref(list);
    return EXIT_SUCCESS;
}
