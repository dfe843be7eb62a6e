#include "client/pools.h"

#include <string.h>

static int remote_pool_find(const struct client *api, struct arena *arena, const char *path,
                            const char *name, const char *wanted, struct remote_type *ret,
                            struct error *err) {
    const struct client_call call = { .method = "GET", .path = path };
    const json_t *list = client_ask_list(api, arena, &call, name, err);

    if (!list)
        return -1;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *type = json_array_get(list, i);

        if (!json_text_is(type, "id", wanted) && !json_text_is(type, "name", wanted))
            continue;
        *ret = (struct remote_type){
            .id = json_text_of(type, "id"),
            .name = json_text_of(type, "name"),
            .multiattach =
                json_text_is(json_object_get(type, "extra_specs"), "multiattach", "<is> True"),
        };
        return 0;
    }
    return error_set(err, ERROR_NOT_FOUND, "There is no type %s.", wanted);
}

int types_find(const struct client *api, struct arena *arena, const char *wanted,
               struct remote_type *ret, struct error *err) {
    return remote_pool_find(api, arena, "/types", "volume_types", wanted, ret, err);
}

int group_types_find(const struct client *api, struct arena *arena, const char *wanted,
                     struct remote_type *ret, struct error *err) {
    return remote_pool_find(api, arena, "/group_types", "group_types", wanted, ret, err);
}

/* "infinite" and "unknown" are no limits. */
static int read_pool(struct arena *arena, const json_t *object, void *ret, struct error *err) {
    const json_t *said = json_object_get(object, "capabilities");
    const json_t *value = json_object_get(said, "free_capacity_gb");
    double free_gb = json_is_number(value) ? json_number_value(value) : FIELD_MAX_SIZE_GB;

    (void)arena, (void)err;
    *(struct remote_pool *)ret = (struct remote_pool){
        .name = json_text_of(object, "name"),
        .protocol = json_text_of(said, "storage_protocol"),
        .free_gb = free_gb > FIELD_MAX_SIZE_GB ? FIELD_MAX_SIZE_GB
                   : free_gb > 0               ? (int64_t)free_gb
                                               : 0,
    };
    return 0;
}

int pools_find(const struct client *api, struct arena *arena, const char *type,
               struct remote_pool **ret, struct error *err) {
    const char *path =
        arena_join(arena, "/scheduler-stats/get_pools?detail=true", type ? "&volume_type=" : "",
                   type ? http_encode(arena, type) : "", NULL);
    void *rows = NULL;
    int count =
        client_list(api, arena, path, "pools", read_pool, sizeof(struct remote_pool), &rows, err);

    *ret = rows;
    return count;
}

/* ---- zones ---- */

struct service {
    const char *host, *zone; /* node@backend */
};

static int read_service(struct arena *arena, const json_t *object, void *ret, struct error *err) {
    (void)arena, (void)err;
    *(struct service *)ret =
        (struct service){ json_text_of(object, "host"), json_text_of(object, "zone") };
    return 0;
}

static bool is_of(const struct remote_pool *pool, const char *host) {
    size_t length = pool->name && host ? strlen(host) : 0;

    return length > 0 && strncmp(pool->name, host, length) == 0 &&
           (pool->name[length] == '#' || pool->name[length] == '\0');
}

int pools_find_zones(const struct client *api, struct arena *arena, struct remote_pool *pools,
                     unsigned count, struct error *err) {
    struct service *services;
    void *rows = NULL;
    int found = client_list(api, arena, "/os-services?binary=cinder-volume", "services",
                            read_service, sizeof(*services), &rows, err);

    services = rows;
    for (int i = 0; i < found; i++)
        for (unsigned j = 0; j < count; j++)
            if (is_of(&pools[j], services[i].host))
                pools[j].zone = services[i].zone;
    return found < 0 ? -1 : 0;
}

/* ---- capacity ---- */

void pools_add_room(const struct remote_pool *pool, struct remote_room *room) {
    room->free_gb += pool->free_gb;
    if (room->free_gb > FIELD_MAX_SIZE_GB)
        room->free_gb = FIELD_MAX_SIZE_GB;
    if (pool->free_gb > room->largest_gb)
        room->largest_gb = pool->free_gb;
}

int pools_room(const struct client *api, struct arena *arena, const char *type,
               struct remote_room *ret, struct error *err) {
    struct remote_room room = { 0, 0 };
    struct remote_pool *pools;
    int count = pools_find(api, arena, type, &pools, err);

    for (int i = 0; i < count; i++)
        pools_add_room(&pools[i], &room);
    if (count < 0)
        return -1;
    *ret = room;
    return 0;
}
