#include "api/pools.h"

#include "rest/answer.h"

#include "common/cleanup.h"
#include "model/scheduler/capability.h"
#include "model/scheduler/placement.h"
#include "model/scheduler/pool.h"

#include <string.h>

/* ---- pools ---- */

static const struct resource_column filters[] = {
    { .name = "name", .for_all = true },
    { .name = "volume_type", .for_all = true },
    { .name = NULL },
};

/* Pools are not rows of one table: only their filters are listed. */
const struct resource pool_resource = {
    .name = "pool",
    .collection = "scheduler-stats/get_pools",
    .columns = filters,
};

struct pool_filter {
    bool detail;
    const char *name;
    const char *type_name;   /* NULL: any */
    struct volume_type type; /* of that name */
    struct pair *pairs;      /* required values of capabilities */
    unsigned pair_count;
};

static int read_parameter(struct request *request, const struct pair *parameter,
                          struct pool_filter *filter, struct error *err) {
    const char *key = parameter->key;

    if (strcmp(key, "detail") == 0) {
        if (!json_boolean_word(parameter->value, true, &filter->detail))
            return error_set(err, ERROR_BAD_REQUEST, "Invalid value for detail: %s",
                             parameter->value);
    } else if (request->minor < MV_POOL_FILTERS) {
        return 0;
    } else if (strcmp(key, "name") == 0) {
        filter->name = parameter->value;
    } else if (strcmp(key, "volume_type") == 0) {
        filter->type_name = request->minor >= MV_POOL_TYPE_FILTER ? parameter->value : NULL;
    } else if (request->minor >= MV_STRICT_FILTERS) {
        return error_set(err, ERROR_BAD_REQUEST, "Invalid filters %s are found in query options.",
                         key);
    } else {
        filter->pairs[filter->pair_count++] = *parameter;
    }
    return 0;
}

static bool pool_passes(struct request *request, const struct pool_filter *filter,
                        const struct pool *pool) {
    struct pairs pairs = { filter->pairs, filter->pair_count };

    return pool->active && (!filter->name || strcmp(filter->name, pool->name) == 0) &&
           (!filter->type_name || placement_matches(&request->work, pool, &filter->type)) &&
           (pairs.count == 0 ||
            capability_matches(pool_capabilities(&request->work, pool), &pairs));
}

enum { SEES_CAPABILITIES = 1 };

static void put_capabilities(struct request *request, const void *row) {
    out_value(&request->out, pool_capabilities(&request->work, row));
}

static const struct shape_key pool_keys[] = {
    SHAPE(struct pool, name, "name", TEXT),
    SHAPE_BY(put_capabilities, "capabilities", ANY, .rights = SEES_CAPABILITIES),
    SHAPES_END,
};
const struct shape pool_shape = { "pool", pool_keys };

int pools_list(struct request *request, struct error *err) {
    const struct pair *parameters;
    unsigned parameter_count = request_queries(request, &parameters);
    struct pool_filter filter = {
        .pairs = arena_alloc(request->work.arena, (parameter_count + 1) * sizeof(struct pair)),
    };
    struct pool *pools;
    int count;

    for (unsigned i = 0; i < parameter_count; i++)
        if (read_parameter(request, &parameters[i], &filter, err) < 0)
            return -1;
    if (filter.type_name &&
        volume_type_find(&request->work, filter.type_name, &filter.type, err) < 0)
        return -1;
    count = pool_list(&request->work, &pools, err);
    if (count < 0)
        return -1;
    answer_open(request);
    for (int i = 0; i < count; i++)
        if (pool_passes(request, &filter, &pools[i]))
            shape_put(request, &pool_shape, &pools[i], filter.detail ? SEES_CAPABILITIES : 0);
    answer_close(request);
    return 0;
}

/* ---- capabilities of a backend ---- */

static const struct property {
    const char *name, *title, *description;
} properties[] = {
    { "thin_provisioning", "Thin Provisioning", "Room is taken when data is written." },
    { "multiattach", "Multiattach", "A volume may be attached to several servers." },
    { "qos", "QoS", "The backend can limit the throughput of a volume." },
    { "replication_enabled", "Replication", "The backend keeps copies elsewhere." },
};

static void put_boolean_word(struct request *request, const void *row) {
    (void)row;
    out_text(&request->out, "boolean");
}

static const struct shape_key property_keys[] = {
    SHAPE(struct property, title, "title", TEXT),
    SHAPE(struct property, description, "description", TEXT),
    SHAPE_BY(put_boolean_word, "type", TEXT),
    SHAPES_END,
};
static const struct shape property_shape = { "capability", property_keys };

static void put_properties(struct request *request, const void *row) {
    (void)row;
    out_begin_object(&request->out);
    for (size_t i = 0; i < LENGTH(properties); i++) {
        out_key_text(&request->out, properties[i].name);
        shape_put(request, &property_shape, &properties[i], 0);
    }
    out_end_object(&request->out);
}

/* A host, and pool_capabilities() of its pool. */
struct capabilities {
    const char *host;
    const json_t *said;
};

static void put_namespace(struct request *request, const void *row) {
    const struct capabilities *capabilities = row;

    out_text(&request->out, arena_format(request->work.arena, "OS::Storage::Capabilities::%s",
                                         capabilities->host));
}

/* As reported by the backend, or null. */
static void put_said(struct request *request, const struct capabilities *capabilities,
                     const char *name) {
    out_value(&request->out, json_object_get(capabilities->said, name));
}

static void put_vendor(struct request *request, const void *row) {
    put_said(request, row, "vendor_name");
}

static void put_backend(struct request *request, const void *row) {
    put_said(request, row, "volume_backend_name");
}

static void put_version(struct request *request, const void *row) {
    put_said(request, row, "driver_version");
}

static void put_protocol(struct request *request, const void *row) {
    put_said(request, row, "storage_protocol");
}

/* clang-format off */
static const struct shape_key properties_keys[] = {
    SHAPE_ELSE(OBJECT, 0, .of = &property_shape),
    SHAPES_END,
};
static const struct shape properties_shape = { NULL, properties_keys };

static const struct shape_key capabilities_keys[] = {
    SHAPE_BY(put_namespace,  "namespace",           TEXT),
    SHAPE_BY(put_vendor,     "vendor_name",         ANY),
    SHAPE_BY(put_backend,    "volume_backend_name", ANY),
    SHAPE_BY(put_version,    "driver_version",      ANY),
    SHAPE_BY(put_protocol,   "storage_protocol",    ANY),
    { SHAPE_KEY("pool_name", NULL) },
    { SHAPE_KEY("display_name", NULL) },
    { SHAPE_KEY("description", NULL) },
    { SHAPE_KEY("visibility", NULL) },
    SHAPE_BY(shape_no_items, "replication_targets", LIST),
    SHAPE_BY(put_properties, "properties",          OBJECT, .of = &properties_shape),
    SHAPES_END,
};
/* clang-format on */
const struct shape capabilities_shape = { NULL, capabilities_keys };

int pools_show_capabilities(struct request *request, struct error *err) {
    struct pool *pools;
    int count = pool_list(&request->work, &pools, err);

    if (count < 0)
        return -1;
    for (int i = 0; i < count; i++)
        if (strcmp(pools[i].host, request->id) == 0) {
            const struct capabilities row = { pools[i].host,
                                              pool_capabilities(&request->work, &pools[i]) };

            answer_row(request, &row, 0);
            return 0;
        }
    return error_set(err, ERROR_NOT_FOUND, "Can't find service: host %s has no volume backend.",
                     request->id);
}
