/*
 * Texts of JSON objects, by path as json_text_at(); a missing one is "".  Objects in a list that are
 * found by a text of theirs.
 */
#pragma once

#include "json/json.h"

#include <string.h>

static inline const char *tree_text(const json_t *tree, const char *path) {
    const char *text = json_text_at(tree, path);

    return text ? text : "";
}

/* NULL is "". */
static inline bool text_is(const char *text, const char *other) {
    return strcmp(text ? text : "", other ? other : "") == 0;
}

/* A list or an object to be put; an empty one is released: NULL. */
static inline json_t *tree_unless_empty(json_t *tree) {
    if (json_array_size(tree) > 0 || json_object_size(tree) > 0)
        return tree;
    json_decref(tree);
    return NULL;
}

/* The first object of the list with this text; NULL: none. */
static inline const json_t *tree_entry(const json_t *list, const char *key, const char *text) {
    for (size_t i = 0; i < json_array_size(list); i++)
        if (text_is(tree_text(json_array_get(list, i), key), text))
            return json_array_get(list, i);
    return NULL;
}
