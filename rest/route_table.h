/*
 * The rows of routes.h prepared for look-up: by first segment and number of segments, then patterns
 * with more literal segments first, then method and action.  Read-only once built.
 */
#pragma once

#include "rest/route.h"
#include "rest/url.h"

struct route_table;
struct route_node; /* one path pattern and its rows */

/* `arrays` ends with NULL. A row is refused that repeats another, has a malformed path, metadata of
 * a resource without them, or no shape. */
int route_table_new(const struct route *const *arrays, struct route_table **ret, struct error *err);
void route_table_free(struct route_table *table);

/* Is this the first segment of some route? */
bool route_table_knows(const struct route_table *table, const char *segment);

struct route_match {
    const struct route_node *node;
    const struct route *route; /* NULL: the node has actions, selected by the body */
    const char *id, *key;
};

/* `path` starts after /v3[/{project}]; ".json" after its last segment is removed, but not from a
 * {key}, which may end so itself.  HEAD is looked up as GET. */
bool route_table_find(const struct route_table *table, struct arena *arena, const char *method,
                      const struct url_path *path, struct route_match *ret);
const struct route *route_node_action(const struct route_node *node, const char *action);
