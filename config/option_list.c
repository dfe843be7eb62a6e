#include "config/option_list.h"

#include <inttypes.h>
#include <stdint.h>
#include <string.h>

/* ---- sections ---- */

const struct option_names option_names[OPTION_NAMES] = {
    { OPTION_BACKEND, "DEFAULT", "enabled_backends", "backend", "BACKEND" },
    { OPTION_POOL, "storage", "enabled_pools", "pool", "POOL" },
};

const struct option_names *option_names_of(const char *section) {
    for (unsigned i = 0; i < OPTION_NAMES; i++) {
        if (strcmp(option_names[i].section, section) == 0)
            return &option_names[i];
    }
    return NULL;
}

/* ---- list ---- */

const struct option *option_list_find(const struct option_list *list, const char *section,
                                      const char *key) {
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->options[i]->section, section) == 0 &&
            strcmp(list->options[i]->key, key) == 0)
            return list->options[i];
    }
    return NULL;
}

/* After the last option of its section; a new section is placed before those of option_names. */
static void insert(struct option_list *list, const struct option *option) {
    size_t place = strcmp(option->section, "DEFAULT") != 0 ? list->count : 0;

    while (place > 0 && !option_names_of(option->section) &&
           option_names_of(list->options[place - 1]->section))
        place--;
    for (size_t i = list->count; i > 0; i--)
        if (strcmp(list->options[i - 1]->section, option->section) == 0) {
            place = i;
            break;
        }
    memmove(&list->options[place + 1], &list->options[place],
            (list->count - place) * sizeof(list->options[0]));
    list->options[place] = option;
    list->count++;
}

struct option_list option_list_make(struct arena *arena, const struct option *const *tables) {
    struct option_list list = { 0 };
    size_t most = 1;

    for (size_t t = 0; tables[t]; t++) {
        for (const struct option *option = tables[t]; option->type != OPTION_TYPE_END; option++)
            most++;
    }
    list.options = arena_alloc(arena, most * sizeof(list.options[0]));
    for (size_t t = 0; tables[t]; t++) {
        for (const struct option *option = tables[t]; option->type != OPTION_TYPE_END; option++) {
            if (!option_list_find(&list, option->section, option->key))
                insert(&list, option);
        }
    }
    return list;
}

/* ---- descriptions ---- */

static const char *describe_range(struct arena *arena, const struct option *option,
                                  const char *what) {
    if (option->min == option->max)
        return what;
    if (option->max == INT64_MAX)
        return arena_format(arena, "%s, at least %" PRId64, what, option->min);
    return arena_format(arena, "%s from %" PRId64 " to %" PRId64, what, option->min, option->max);
}

const char *option_describe(struct arena *arena, const struct option *option) {
    const char *text = "one of";

    switch (option->type) {
    case OPTION_INT:
        return describe_range(arena, option, "an integer");
    case OPTION_FLOAT:
        return describe_range(arena, option, "a number");
    case OPTION_SECONDS:
        return describe_range(arena, option, "a number of seconds");
    case OPTION_BOOL:
        return "true or false";
    case OPTION_WORD:
        for (const char *const *word = option->words; *word; word++)
            text = arena_format(arena, "%s%s %s", text, word == option->words ? "" : ",", *word);
        return text;
    case OPTION_LIST:
        return "a list with commas";
    case OPTION_HOST:
        return arena_format(arena, "a name of 1 to %d letters, digits and -._@:/+[]",
                            OPTION_HOST_MOST);
    default:
        return "text";
    }
}
