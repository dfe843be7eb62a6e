#include "client/limits.h"

#include "http/exchange.h"

#include <string.h>

static int read_limits(struct arena *arena, const json_t *object, void *ret, struct error *err) {
    const char *volume_id = json_text_of(object, "volume_id");
    const json_t *limits = json_object_get(object, "limits");
    struct remote_limits *row = ret;

    (void)arena;
    if (!volume_id || !json_is_object(limits))
        return error_set(err, ERROR_UNAVAILABLE, "malformed limits of a volume");
    *row = (struct remote_limits){ .volume_id = volume_id };
    for (int i = 0; i < IO_LIMITS; i++) {
        json_int_t value = json_integer_value(json_object_get(limits, io_limit_names[i]));

        row->limits.of[i] = value > 0 ? value : 0;
    }
    return 0;
}

int limits_list(const struct client *api, struct arena *arena, const char *host,
                struct remote_limits **ret, struct error *err) {
    const char *path = arena_join(arena, "/os-volume-limits?host=", http_encode(arena, host), NULL);

    return client_list(api, arena, path, "volume_limits", read_limits, sizeof **ret, (void **)ret,
                       err);
}

const struct io_limits *limits_find(const struct remote_limits *limits, unsigned count,
                                    const char *volume_id) {
    for (unsigned i = 0; i < count; i++)
        if (strcmp(limits[i].volume_id, volume_id) == 0)
            return &limits[i].limits;
    return NULL;
}
