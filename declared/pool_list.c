#include "declared/pool_list.h"

#include "json/json.h"

#include <string.h>

static const json_t *list_of(const json_t *spec) {
    return json_object_get(spec, "replicaPoolInfo");
}

static const char *name_at(const json_t *list, size_t i) {
    return json_text_of(json_array_get(list, i), "poolName");
}

static bool has_name(const json_t *list, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(name_at(list, i), name) == 0)
            return true;
    return false;
}

size_t pool_list_count(const json_t *spec) {
    return json_array_size(list_of(spec));
}

int pool_list_check(const json_t *spec, const char *path, struct error *err) {
    const json_t *list = list_of(spec);

    for (size_t i = 0; i < json_array_size(list); i++)
        if (has_name(list, i, name_at(list, i)))
            return error_set(err, ERROR_BAD_REQUEST,
                             "%s.replicaPoolInfo[%zu].poolName: %s is named twice.", path, i,
                             name_at(list, i));
    return 0;
}

/* Number of names of `some` that the other list lacks; *ret_name: one of them. */
static size_t missing_in(const json_t *other, const json_t *some, const char **ret_name) {
    size_t missing = 0;

    for (size_t i = 0; i < json_array_size(some); i++)
        if (!has_name(other, json_array_size(other), name_at(some, i))) {
            *ret_name = name_at(some, i);
            missing++;
        }
    return missing;
}

bool pool_list_is_same(const json_t *before, const json_t *after) {
    const json_t *old = list_of(before), *new = list_of(after);

    return (!old && !new) || json_equal(old, new);
}

bool pool_list_names_same(const json_t *one, const json_t *other) {
    const char *name;

    return missing_in(list_of(one), list_of(other), &name) == 0 &&
           missing_in(list_of(other), list_of(one), &name) == 0;
}

int pool_list_compare(const json_t *before, const json_t *after, const char *path,
                      struct error *err) {
    const char *come = NULL, *gone = NULL; /* the latter may be for administrators alone */
    size_t new_ones = missing_in(list_of(before), list_of(after), &come);
    size_t old_ones = missing_in(list_of(after), list_of(before), &gone);

    if (new_ones > 0 && old_ones > 0)
        return error_set(
            err, ERROR_BAD_REQUEST,
            "%s.replicaPoolInfo: a replica cannot be moved to pool %s; add the new pool first, and remove the old one when its replica is healthy.",
            path, come);
    if (old_ones > 1)
        return error_set(err, ERROR_BAD_REQUEST,
                         "%s.replicaPoolInfo: %zu pools are removed; only one at a time can be.",
                         path, old_ones);
    if (old_ones > 0 && pool_list_count(after) == 0)
        return error_set(err, ERROR_BAD_REQUEST,
                         "%s.replicaPoolInfo: the last replica cannot be removed.", path);
    return 0;
}

const char *pool_list_only_gone(const json_t *before, const json_t *after) {
    const char *come = NULL, *gone = NULL;

    if (missing_in(list_of(before), list_of(after), &come) > 0 || pool_list_count(after) == 0 ||
        missing_in(list_of(after), list_of(before), &gone) != 1)
        return NULL;
    return gone;
}

bool pool_list_names(const json_t *spec, const char *name) {
    return has_name(list_of(spec), pool_list_count(spec), name);
}

/* Where the replacement is itself named by the list, that name must be replaced, too. */
bool pool_list_is_replaced(const json_t *spec, const json_t *replaced, const char *name) {
    for (size_t i = 0; i <= json_object_size(replaced); i++) {
        const char *other = json_text_of(replaced, name);

        if (!other)
            return false;
        if (!pool_list_names(spec, other))
            return true;
        name = other;
    }
    return true;
}

const json_t *pool_list_effective(struct arena *arena, const json_t *spec, const json_t *replaced) {
    const json_t *list = list_of(spec);
    json_t *names = json_object_size(replaced) > 0 && list ? json_array() : NULL;

    if (!names)
        return spec;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = name_at(list, i);
        bool is_replaced = pool_list_is_replaced(spec, replaced, name);

        json_array_append_new(names, json_pack("{s:s}", "poolName",
                                               is_replaced ? json_text_of(replaced, name) : name));
    }
    return json_keep(arena, json_pack("{s:o}", "replicaPoolInfo", names));
}
