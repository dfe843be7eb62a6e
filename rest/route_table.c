#include "rest/route_table.h"

#include "rest/metadata.h"

#include <string.h>

#define BUCKETS 128

struct route_entry {
    const struct route *route;
    struct route_entry *next;
};

enum part { PART_WORD, PART_ID, PART_KEY };

struct route_node {
    struct url_path path; /* segments of the pattern */
    enum part parts[URL_SEGMENTS];
    unsigned words;
    struct route_entry *plain, *actions;
    struct route_node *next;
};

struct route_table {
    struct arena *arena;
    struct route_node *buckets[BUCKETS];
    const char *resources[BUCKETS]; /* first segments, open addressing */
};

static unsigned hash_text(const char *text, unsigned seed) {
    unsigned hash = 2166136261U ^ seed;

    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 16777619U;
    return hash % BUCKETS;
}

bool route_table_knows(const struct route_table *table, const char *segment) {
    for (unsigned at = hash_text(segment, 0); table->resources[at]; at = (at + 1) % BUCKETS)
        if (strcmp(table->resources[at], segment) == 0)
            return true;
    return false;
}

static int node_parse(struct route_node *node, struct arena *arena, const char *path,
                      struct error *err) {
    static const char *const words[] = { [PART_ID] = "{id}", [PART_KEY] = "{key}" };

    if (!url_split(arena, path, &node->path) || path[1] == '{')
        return error_set(err, ERROR_INTERNAL, "Route %s cannot be matched.", path);
    for (unsigned i = 0; i < node->path.count; i++) {
        const char *segment = node->path.segments[i];

        for (enum part part = PART_ID; part <= PART_KEY; part++)
            if (strcmp(segment, words[part]) == 0)
                node->parts[i] = part;
        if (node->parts[i] == PART_WORD && segment[0] == '{')
            return error_set(err, ERROR_INTERNAL, "Route %s has an unknown parameter.", path);
        node->words += node->parts[i] == PART_WORD;
    }
    return 0;
}

static bool node_is(const struct route_node *node, const struct route_node *other) {
    if (node->path.count != other->path.count)
        return false;
    for (unsigned i = 0; i < node->path.count; i++)
        if (strcmp(node->path.segments[i], other->path.segments[i]) != 0)
            return false;
    return true;
}

/* The node of the pattern, created if new; patterns with more literal segments come first. */
static struct route_node *table_node(struct route_table *table, const char *path,
                                     struct error *err) {
    struct route_node *made = arena_alloc(table->arena, sizeof(*made));
    struct route_node **place;
    unsigned slot;

    if (node_parse(made, table->arena, path, err) < 0)
        return NULL;
    place = &table->buckets[hash_text(made->path.segments[0], made->path.count)];
    for (struct route_node *node = *place; node; node = node->next)
        if (node_is(node, made))
            return node;
    slot = hash_text(made->path.segments[0], 0);
    while (table->resources[slot] && strcmp(table->resources[slot], made->path.segments[0]) != 0)
        slot = (slot + 1) % BUCKETS;
    table->resources[slot] = made->path.segments[0];
    while (*place && (*place)->words > made->words)
        place = &(*place)->next;
    made->next = *place;
    *place = made;
    return made;
}

bool route_wants_body(const struct route *route) {
    return route->action || route->wrapper || route->fields ||
           (route->flags & (ROUTE_NO_WRAPPER | ROUTE_ANY_VALUE));
}

bool route_reads_many(const struct route *route) {
    return route->flags & (ROUTE_MANY | ROUTE_BROAD) || route->handler == resource_list ||
           route->handler == resource_list_detail;
}

static int table_add(struct route_table *table, const struct route *route, struct error *err) {
    struct route_entry *entry = arena_alloc(table->arena, sizeof(*entry));
    struct route_node *node = table_node(table, route->path, err);
    struct route_entry **place;
    bool shows; /* by its resource alone */

    if (!node)
        return -1;
    if (!metadata_route_works(route))
        return error_set(err, ERROR_INTERNAL, "Route %s has a resource without metadata to set.",
                         route->path);
    shows = route->handler == resource_list || route->handler == resource_list_detail ||
            route->handler == resource_show;
    if (shows && !route->resource->shape)
        return error_set(err, ERROR_INTERNAL, "Route %s shows a resource without a shape.",
                         route->path);
    for (place = route->action ? &node->actions : &node->plain; *place; place = &(*place)->next)
        if (strcmp(route->action ? (*place)->route->action : (*place)->route->method,
                   route->action ? route->action : route->method) == 0)
            return error_set(err, ERROR_INTERNAL, "Route %s %s %s is defined twice.", route->method,
                             route->path, route->action ? route->action : "");
    entry->route = route;
    *place = entry;
    return 0;
}

int route_table_new(const struct route *const *arrays, struct route_table **ret,
                    struct error *err) {
    struct arena *arena = arena_new();
    struct route_table *table = arena_alloc(arena, sizeof(*table));

    table->arena = arena;
    for (; *arrays; arrays++)
        for (const struct route *route = *arrays; route->method; route++)
            if (table_add(table, route, err) < 0) {
                arena_free(arena);
                return -1;
            }
    *ret = table;
    return 0;
}

void route_table_free(struct route_table *table) {
    arena_free(table->arena);
}

static bool node_matches(const struct route_node *node, const struct url_path *path,
                         const char *bare, struct route_match *match) {
    unsigned last = path->count - 1;

    if (node->path.count != path->count)
        return false;
    for (unsigned i = 0; i <= last; i++) {
        const char *segment = i == last ? bare : path->segments[i];

        if (node->parts[i] == PART_ID)
            match->id = segment;
        else if (node->parts[i] == PART_KEY)
            match->key = path->segments[i];
        else if (strcmp(node->path.segments[i], segment) != 0)
            return false;
    }
    return true;
}

static bool node_takes(const struct route_node *node, const char *method,
                       struct route_match *match) {
    for (const struct route_entry *entry = node->plain; entry; entry = entry->next)
        if (strcmp(entry->route->method, method) == 0) {
            match->route = entry->route;
            return true;
        }
    return node->actions && strcmp(node->actions->route->method, method) == 0;
}

bool route_table_find(const struct route_table *table, struct arena *arena, const char *method,
                      const struct url_path *path, struct route_match *ret) {
    const char *bare; /* the last segment, without ".json" */
    size_t length;

    if (path->count == 0)
        return false;
    if (strcmp(method, "HEAD") == 0)
        method = "GET";
    bare = path->segments[path->count - 1];
    length = strlen(bare);
    if (length > strlen(".json") && strcmp(bare + length - strlen(".json"), ".json") == 0)
        bare = arena_text_n(arena, bare, length - strlen(".json"));
    for (const struct route_node *node =
             table->buckets[hash_text(path->count == 1 ? bare : path->segments[0], path->count)];
         node; node = node->next) {
        struct route_match match = { .node = node };

        if (node_matches(node, path, bare, &match) && node_takes(node, method, &match)) {
            *ret = match;
            return true;
        }
    }
    return false;
}

const struct route *route_node_action(const struct route_node *node, const char *action) {
    for (const struct route_entry *entry = node->actions; entry; entry = entry->next)
        if (strcmp(entry->route->action, action) == 0)
            return entry->route;
    return NULL;
}
