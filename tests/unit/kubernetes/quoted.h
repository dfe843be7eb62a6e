/*
 * JSON in tests, with ' for ".
 */
#pragma once

#include "tests/lib/check_main.h"
#include "json/json.h"

#include <string.h>

static inline char *quoted(struct arena *arena, const char *text) {
    char *json = arena_text(arena, text);

    for (char *c = json; *c; c++)
        if (*c == '\'')
            *c = '"';
    return json;
}

static inline json_t *tree(struct arena *arena, const char *text) {
    const char *json = quoted(arena, text);
    json_t *parsed = json_parse(arena, json, strlen(json), NULL);

    ck_assert_msg(parsed != NULL, "%s", json);
    return parsed;
}
