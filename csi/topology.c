#include "csi/topology.private.h"

#include "json/out.h"

#include <string.h>
#include <strings.h>

#define SECTION "csi"
#define MOST    64 /* segments of a node */

static const char *const names[] = { [SEGMENT_HOST] = "host", [SEGMENT_ZONE] = "zone" };

/* ---- settings ---- */

static const char *item_of(const struct config *config, size_t i) {
    return i < MOST ? config_item(config, SECTION, "topology", i) : NULL;
}

void csi_topology_read(struct csi_driver *driver, const struct config *config) {
    const char *item;

    driver->segments = arena_format(driver->arena, "topology.%s/", driver->name);
    for (size_t i = 0; (item = item_of(config, i)); i++)
        for (unsigned segment = 0; segment < SEGMENTS; segment++)
            if (strncmp(item, names[segment], strcspn(item, "=")) == 0 &&
                strlen(names[segment]) == strcspn(item, "="))
                driver->has_segment[segment] = driver->has_topology = true;
}

/* ---- segments ---- */

static void add(struct arena *arena, const char *key, const char *value,
                Csi__V1__Topology *topology) {
    Csi__V1__Topology__SegmentsEntry *entry =
        CSI_NEW(arena, Csi__V1__Topology__SegmentsEntry, csi__v1__topology__segments_entry);

    entry->key = arena_text(arena, key);
    entry->value = arena_text(arena, value);
    topology->segments[topology->n_segments++] = entry;
}

static Csi__V1__Topology *topology_new(struct arena *arena) {
    Csi__V1__Topology *topology = CSI_NEW(arena, Csi__V1__Topology, csi__v1__topology);

    topology->segments = arena_alloc(arena, MOST * sizeof(*topology->segments));
    return topology;
}

Csi__V1__Topology *topology_of_node(const struct csi_driver *driver, struct arena *arena,
                                    const char *node_id) {
    Csi__V1__Topology *topology = topology_new(arena);
    const char *item;

    for (size_t i = 0; (item = item_of(driver->config, i)); i++) {
        size_t length = strcspn(item, "=");
        const char *key = arena_text_n(arena, item, length), *value = NULL;

        if (item[length])
            value = item + length + 1;
        else if (strcmp(key, names[SEGMENT_HOST]) == 0)
            value = node_id;
        if (value) /* keys without a prefix are the driver's own */
            add(arena, strchr(key, '/') ? key : arena_join(arena, driver->segments, key, NULL),
                value, topology);
    }
    return topology->n_segments > 0 ? topology : NULL;
}

/* NULL: the topology has no such segment, or it is not in use. */
static const char *segment_of(const struct csi_driver *driver, const Csi__V1__Topology *topology,
                              enum segment segment) {
    size_t prefix = strlen(driver->segments);

    for (size_t i = 0; driver->has_segment[segment] && i < topology->n_segments; i++) {
        const char *key = topology->segments[i]->key;

        if (strncasecmp(key, driver->segments, prefix) == 0 &&
            strcasecmp(key + prefix, names[segment]) == 0)
            return topology->segments[i]->value;
    }
    return NULL;
}

/* ---- pools ---- */

int topology_pools_read(const struct grpc_call *call, const struct client *api, const char *type,
                        struct topology_pools *ret, struct error *err) {
    const struct csi_driver *driver = csi_driver_of(call);
    int count;

    *ret = (struct topology_pools){ .driver = driver };
    if (!driver->has_topology)
        return 0;
    count = pools_find(api, call->arena, type, &ret->pools, err);
    /* An unknown type is refused by the create itself.  Zones are listed for everyone, and volumes
     * have theirs. */
    if (count < 0)
        return err->kind == ERROR_NOT_FOUND || err->kind == ERROR_BAD_REQUEST ||
                       (err->kind == ERROR_FORBIDDEN && !driver->has_segment[SEGMENT_HOST])
                   ? 0
                   : -1;
    ret->count = (unsigned)count;
    ret->known = true;
    return driver->has_segment[SEGMENT_ZONE]
               ? pools_find_zones(api, call->arena, ret->pools, ret->count, err)
               : 0;
}

static bool is_in(const char *place, const char *requirement) {
    return !requirement || (place && strcmp(place, requirement) == 0);
}

/* "node@backend#pool" */
static bool is_on(const char *pool, const char *node) {
    size_t length = strlen(node);

    return strncmp(pool, node, length) == 0 && pool[length] == '@';
}

/* A directory of the machine: only the node with its name has it. */
static bool is_local(const struct remote_pool *pool) {
    return pool->protocol && strcmp(pool->protocol, "file") == 0;
}

static bool reaches(const struct topology_pools *places, const struct remote_pool *pool,
                    const Csi__V1__Topology *topology) {
    const char *host = segment_of(places->driver, topology, SEGMENT_HOST);

    return is_in(pool->zone, segment_of(places->driver, topology, SEGMENT_ZONE)) &&
           (!host || !is_local(pool) || (pool->name && is_on(pool->name, host)));
}

void topology_pools_capacity(const struct topology_pools *places, const Csi__V1__Topology *topology,
                             struct remote_room *capacity) {
    for (unsigned i = 0; i < places->count; i++)
        if (reaches(places, &places->pools[i], topology))
            pools_add_room(&places->pools[i], capacity);
}

static const struct remote_pool *pool_of(const struct topology_pools *places,
                                         const struct remote_volume *volume) {
    for (unsigned i = 0; volume->host && i < places->count; i++)
        if (places->pools[i].name && strcmp(places->pools[i].name, volume->host) == 0)
            return &places->pools[i];
    return NULL;
}

static bool matches(const struct topology_pools *places, const Csi__V1__Topology *topology,
                    const struct remote_volume *volume) {
    const struct remote_pool *pool = pool_of(places, volume);
    const char *host = segment_of(places->driver, topology, SEGMENT_HOST);

    return is_in(volume->availability_zone, segment_of(places->driver, topology, SEGMENT_ZONE)) &&
           (!host || !pool || !is_local(pool) || is_on(pool->name, host));
}

bool topology_pools_match(const struct topology_pools *places,
                          const Csi__V1__TopologyRequirement *requirement,
                          const struct remote_volume *volume) {
    bool required = requirement && requirement->n_requisite > 0;
    size_t count = !requirement ? 0
                   : required   ? requirement->n_requisite
                                : requirement->n_preferred;

    if (!places->driver->has_topology)
        return true;
    for (size_t i = 0; i < count; i++)
        if (matches(places, required ? requirement->requisite[i] : requirement->preferred[i],
                    volume))
            return true;
    return count == 0;
}

void topology_pools_describe(const struct topology_pools *places, struct arena *arena,
                             const struct remote_volume *volume, Csi__V1__Volume *shown) {
    const struct csi_driver *driver = places->driver;
    const struct remote_pool *pool = pool_of(places, volume);
    Csi__V1__Topology *topology = topology_new(arena);

    if (driver->has_segment[SEGMENT_ZONE] && volume->availability_zone)
        add(arena, arena_join(arena, driver->segments, names[SEGMENT_ZONE], NULL),
            volume->availability_zone, topology);
    if (driver->has_segment[SEGMENT_HOST] && pool && is_local(pool))
        add(arena, arena_join(arena, driver->segments, names[SEGMENT_HOST], NULL),
            arena_text_n(arena, pool->name, strcspn(pool->name, "@")), topology);
    if (topology->n_segments == 0)
        return;
    shown->accessible_topology = arena_alloc(arena, sizeof(*shown->accessible_topology));
    shown->accessible_topology[shown->n_accessible_topology++] = topology;
}

/* ---- choice ---- */

/* The volume API accepts 500 items in a hint. */
#define NAMED_MOST 400

/* A term of the hint query: ["in", "$host", ...], of as many pools as a hint may name; NULL: no
 * pool matches. */
static const char *term_of(const struct topology_pools *places, struct arena *arena,
                           const Csi__V1__Topology *topology,
                           const struct remote_volume_new *volume) {
    struct json_out out;
    unsigned named = 0;

    json_out_init(&out, arena, 256);
    out_begin_array(&out);
    out_text(&out, "in");
    out_text(&out, "$host");
    for (unsigned i = 0; i < places->count && named < NAMED_MOST; i++) {
        const struct remote_pool *pool = &places->pools[i];

        if (!pool->name || pool->free_gb < volume->size_gb || !reaches(places, pool, topology))
            continue;
        out_text(&out, pool->name);
        named++;
    }
    out_end_array(&out);
    return named > 0 ? json_out_text(&out) : NULL;
}

static bool choose(const struct topology_pools *places, struct arena *arena,
                   const Csi__V1__Topology *topology, struct remote_volume_new *volume) {
    const char *zone = segment_of(places->driver, topology, SEGMENT_ZONE), *term;

    if (zone && volume->availability_zone && strcmp(zone, volume->availability_zone) != 0)
        return false;
    term = places->known ? term_of(places, arena, topology, volume) : NULL;
    if (places->known && !term)
        return false;
    if (zone)
        volume->availability_zone = zone;
    if (places->driver->has_segment[SEGMENT_HOST])
        volume->query = term;
    return true;
}

int topology_pools_choose(const struct topology_pools *places, struct arena *arena,
                          const Csi__V1__TopologyRequirement *requirement,
                          struct remote_volume_new *volume, struct error *err) {
    if (!places->driver->has_topology || !requirement ||
        requirement->n_preferred + requirement->n_requisite == 0)
        return 0;
    for (size_t i = 0; i < requirement->n_preferred; i++)
        if (choose(places, arena, requirement->preferred[i], volume))
            return 0;
    for (size_t i = 0; i < requirement->n_requisite; i++)
        if (choose(places, arena, requirement->requisite[i], volume))
            return 0;
    return grpc_refuse(
        err, GRPC_RESOURCE_EXHAUSTED,
        "No pool accessible from the required topology has %jd GiB of free capacity.",
        (intmax_t)volume->size_gb);
}
