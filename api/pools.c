#include "api/pools.h"

#include "common/cleanup.h"
#include "volume/capability.h"
#include "volume/placement.h"
#include "volume/pool.h"

#include <string.h>

/* ---- pools ---- */

static const struct resource_column filters[] = {
    { .name = "name", .for_all = true },
    { .name = "volume_type", .for_all = true },
    { .name = NULL },
};

/* Pools are no rows of one table: only their filters are told. */
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
    struct pair *pairs;      /* capabilities that must have a value */
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

static int read_filter(struct request *request, struct pool_filter *ret, struct error *err) {
    const struct pair *parameters;
    unsigned count = request_queries(request, &parameters);

    *ret = (struct pool_filter){
        .pairs = arena_alloc(request->work.arena, (count + 1) * sizeof(struct pair)),
    };
    for (unsigned i = 0; i < count; i++)
        if (read_parameter(request, &parameters[i], ret, err) < 0)
            return -1;
    if (ret->type_name)
        return volume_type_find(&request->work, ret->type_name, &ret->type, err);
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

static void put_pool(struct request *request, const struct pool *pool, bool detail) {
    struct json_out *out = &request->out;

    out_begin_object(out);
    out_put_text(out, "name", pool->name);
    if (detail) {
        out_key(out, "capabilities");
        out_value(out, pool_capabilities(&request->work, pool));
    }
    out_end_object(out);
}

int pools_list(struct request *request, struct error *err) {
    struct pool_filter filter;
    struct pool *pools;
    int count;

    if (read_filter(request, &filter, err) < 0)
        return -1;
    count = pool_list(&request->work, &pools, err);
    if (count < 0)
        return -1;
    out_begin_object(&request->out);
    out_key(&request->out, "pools");
    out_begin_array(&request->out);
    for (int i = 0; i < count; i++)
        if (pool_passes(request, &filter, &pools[i]))
            put_pool(request, &pools[i], filter.detail);
    out_end_array(&request->out);
    out_end_object(&request->out);
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

static void put_properties(struct json_out *out) {
    out_begin_object(out);
    for (size_t i = 0; i < LENGTH(properties); i++) {
        out_key_text(out, properties[i].name);
        out_begin_object(out);
        out_put_text(out, "title", properties[i].title);
        out_put_text(out, "description", properties[i].description);
        out_put_text(out, "type", "boolean");
        out_end_object(out);
    }
    out_end_object(out);
}

static void put_capabilities(struct request *request, const struct pool *pool) {
    static const char *const copied[] = { "vendor_name", "volume_backend_name", "driver_version",
                                          "storage_protocol" };
    const json_t *capabilities = pool_capabilities(&request->work, pool);
    struct json_out *out = &request->out;

    out_begin_object(out);
    out_put_text(out, "namespace",
                 arena_format(request->work.arena, "OS::Storage::Capabilities::%s", pool->host));
    for (size_t i = 0; i < LENGTH(copied); i++) {
        out_key_text(out, copied[i]);
        out_value(out, json_object_get(capabilities, copied[i]));
    }
    out_put_null(out, "pool_name");
    out_put_null(out, "display_name");
    out_put_null(out, "description");
    out_put_null(out, "visibility");
    out_key(out, "replication_targets");
    out_begin_array(out);
    out_end_array(out);
    out_key(out, "properties");
    put_properties(out);
    out_end_object(out);
}

int pools_show_capabilities(struct request *request, struct error *err) {
    struct pool *pools;
    int count = pool_list(&request->work, &pools, err);

    if (count < 0)
        return -1;
    for (int i = 0; i < count; i++)
        if (strcmp(pools[i].host, request->id) == 0) {
            put_capabilities(request, &pools[i]);
            return 0;
        }
    return error_set(err, ERROR_NOT_FOUND, "Can't find service: host %s has no volume backend.",
                     request->id);
}
