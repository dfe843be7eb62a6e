/*
 * Texts of JSON objects; a missing one is "".
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <string.h>

static inline const char *tree_text(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

/* NULL is "". */
static inline bool text_is(const char *text, const char *other) {
    return strcmp(text ? text : "", other ? other : "") == 0;
}
