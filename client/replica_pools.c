#include "client/replica_pools.h"

#include "http/exchange.h"
#include "json/out.h"

static const char *place_of(struct arena *arena, const char *name) {
    return arena_join(arena, "/replica_pools/", http_encode(arena, name), NULL);
}

int replica_pools_report(const struct client *api, struct arena *arena,
                         const struct remote_replica_pool *pool, struct error *err) {
    struct client_call call = { .method = "PUT", .path = place_of(arena, pool->name) };
    struct http_answer answer;
    struct json_out out;

    json_out_begin(&out, arena, "replica_pool");
    out_put_text(&out, "node", pool->node);
    out_put_text(&out, "path", pool->path);
    if (pool->address)
        out_put_text(&out, "address", pool->address);
    out_key(&out, "labels");
    out_value(&out, pool->labels);
    out_put_bool(&out, "read_only", pool->read_only);
    out_put_int(&out, "total_bytes", pool->total_bytes);
    out_put_int(&out, "free_bytes", pool->free_bytes);
    out_put_text(&out, "state", pool->state);
    call.body = json_out_end(&out);
    return client_ask(api, arena, &call, &answer, err) ? 0 : -1;
}

int replica_pools_list(const struct client *api, struct arena *arena,
                       struct remote_replica_pool **ret, struct error *err) {
    const struct client_call call = { .method = "GET", .path = "/replica_pools", .may_lack = true };
    const json_t *list = client_ask_list(api, arena, &call, "replica_pools", err);
    size_t count = json_array_size(list);
    struct remote_replica_pool *pools = arena_alloc(arena, (count + 1) * sizeof(*pools));

    if (!list && err->kind != ERROR_NOT_FOUND)
        return -1;
    for (size_t i = 0; i < count; i++) {
        const json_t *pool = json_array_get(list, i);

        pools[i] = (struct remote_replica_pool){
            .name = json_text_of(pool, "name"),
            .node = json_text_of(pool, "node"),
            .read_only = json_true_at(pool, "read_only"),
            .total_bytes = json_int_at(pool, "total_bytes"),
            .free_bytes = json_int_at(pool, "free_bytes"),
            .state = json_text_of(pool, "state"),
            .up = json_true_at(pool, "up"),
        };
        if (!pools[i].name)
            return error_set(err, ERROR_BACKEND, "The volume API returned a pool without a name.");
    }
    *ret = pools;
    return (int)count;
}

int replica_pools_knows(const struct client *api, struct arena *arena, const char *name,
                        struct error *err) {
    const struct client_call call = { .method = "GET", .path = place_of(arena, name) };
    struct error failure;

    if (client_ask_for(api, arena, &call, "replica_pool", &failure))
        return 1;
    return failure.kind == ERROR_NOT_FOUND ? 0 : error_pass(err, &failure);
}

int replica_pools_drain(const struct client *api, struct arena *arena, const char *name,
                        bool draining, struct error *err) {
    const struct client_call call = {
        .method = "PATCH",
        .path = place_of(arena, name),
        .body = draining ? "{\"replica_pool\": {\"draining\": true}}"
                         : "{\"replica_pool\": {\"draining\": false}}",
    };

    return client_ask_for(api, arena, &call, "replica_pool", err) ? 0 : -1;
}

static int64_t figure_of(const json_t *pool, const char *key) {
    const json_t *value = json_object_get(pool, key);

    return json_is_integer(value) ? json_integer_value(value) : -1;
}

int replica_pools_drained(const struct client *api, struct arena *arena, const char *name,
                          struct remote_pool_drain *ret, struct error *err) {
    const struct client_call call = { .method = "GET", .path = place_of(arena, name) };
    const json_t *pool = client_ask_for(api, arena, &call, "replica_pool", err);

    if (!pool)
        return -1;
    *ret = (struct remote_pool_drain){
        .replicas = figure_of(pool, "replicas"),
        .left_bytes = figure_of(pool, "left_bytes"),
        .moved_bytes = figure_of(pool, "moved_bytes"),
        .bytes_per_second = figure_of(pool, "bytes_per_second"),
        .remaining_s = figure_of(pool, "remaining_seconds"),
    };
    return json_true_at(pool, "draining");
}
