#include "model/type/qos_scale.h"

#include "common/io_limits.h"
#include "json/json.h"

#include <stdio.h>

#define NAME_ROOM 64

static bool read_number(const json_t *object, const char *name, const char *ending, int64_t *ret) {
    char key[NAME_ROOM];
    const char *text;

    snprintf(key, sizeof key, "%s%s", name, ending);
    text = json_text_of(object, key);
    return text && json_digits(text, ret);
}

static void forget(json_t *object, const char *name, const char *ending) {
    char key[NAME_ROOM];

    snprintf(key, sizeof key, "%s%s", name, ending);
    json_object_del(object, key);
}

json_t *qos_scaled(const struct pairs *specs, int64_t size_gb) {
    json_t *object = json_object();
    int64_t each, least, most, value;

    for (unsigned i = 0; i < specs->count; i++)
        json_object_set_new(object, specs->items[i].key,
                            specs->items[i].value ? json_string(specs->items[i].value)
                                                  : json_null());
    for (unsigned i = 0; i < IO_PEAKS; i++) {
        const char *name = io_limit_names[i];

        if (!read_number(object, name, "_per_gb", &each))
            continue;
        if (__builtin_mul_overflow(each, size_gb, &value))
            value = INT64_MAX;
        if (read_number(object, name, "_per_gb_min", &least) && value < least)
            value = least;
        if (read_number(object, name, "_max", &most) && value > most)
            value = most;
        json_object_set_new(object, name, json_integer(value));
        forget(object, name, "_per_gb");
        forget(object, name, "_per_gb_min");
        forget(object, name, "_max");
    }
    return object;
}
