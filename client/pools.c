#include "client/pools.h"

#include <string.h>

static bool spec_is_true(const json_t *type, const char *key) {
    const char *value = json_text_of(json_object_get(type, "extra_specs"), key);

    return value && strcmp(value, "<is> True") == 0;
}

static bool names(const json_t *type, const char *wanted) {
    const char *id = json_text_of(type, "id"), *name = json_text_of(type, "name");

    return (id && strcmp(id, wanted) == 0) || (name && strcmp(name, wanted) == 0);
}

int types_find(const struct client *api, struct arena *arena, const char *wanted,
               struct remote_type *ret, struct error *err) {
    const struct client_call call = { .method = "GET", .path = "/types" };
    const json_t *list = client_ask_for(api, arena, &call, "volume_types", err);

    if (!list)
        return -1;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *type = json_array_get(list, i);

        if (!names(type, wanted))
            continue;
        *ret = (struct remote_type){
            .id = json_text_of(type, "id"),
            .name = json_text_of(type, "name"),
            .multiattach = spec_is_true(type, "multiattach"),
        };
        return 0;
    }
    return error_set(err, ERROR_NOT_FOUND, "There is no volume type %s.", wanted);
}

/* "infinite" and "unknown" are no bounds. */
static int64_t free_of(const json_t *pool) {
    const json_t *value =
        json_object_get(json_object_get(pool, "capabilities"), "free_capacity_gb");
    double free_gb = json_number_value(value);

    if (!json_is_number(value) || free_gb > FIELD_MAX_SIZE_GB)
        return FIELD_MAX_SIZE_GB;
    return free_gb > 0 ? (int64_t)free_gb : 0;
}

int pools_room(const struct client *api, struct arena *arena, const char *type,
               struct remote_room *ret, struct error *err) {
    const struct client_call call = {
        .method = "GET",
        .path = arena_join(arena, "/scheduler-stats/get_pools?detail=true",
                           type ? "&volume_type=" : "", type ? http_encode(arena, type) : "", NULL),
    };
    const json_t *list = client_ask_for(api, arena, &call, "pools", err);
    struct remote_room room = { 0, 0 };

    if (!list)
        return -1;
    for (size_t i = 0; i < json_array_size(list); i++) {
        int64_t free_gb = free_of(json_array_get(list, i));

        room.free_gb += free_gb;
        if (room.free_gb > FIELD_MAX_SIZE_GB)
            room.free_gb = FIELD_MAX_SIZE_GB;
        if (free_gb > room.largest_gb)
            room.largest_gb = free_gb;
    }
    *ret = room;
    return 0;
}
