/*
 * The options of all tables as one list, in words for people.
 */
#pragma once

#include "common/arena.h"
#include "config/option.h"

#include <stddef.h>

/* Sections stay together: DEFAULT first, those of option_names last, the others as they come.  A
 * key that several tables describe (drivers do) stands once, as the first of them says. */
struct option_list {
    const struct option **options;
    size_t count;
};

struct option_list option_list_make(struct arena *arena, const struct option *const *tables);
const struct option *option_list_find(const struct option_list *list, const char *section,
                                      const char *key);

/* What a value must be: "an integer from 1 to 10", "one of a, b", … */
const char *option_describe(struct arena *arena, const struct option *option);
