/*
 * The options of all tables as one list, with descriptions of their values.
 */
#pragma once

#include "common/arena.h"
#include "config/option.h"

#include <stddef.h>

/* Grouped by section: DEFAULT first, those of option_names last, the others in order of appearance.
 * A key in several tables (of drivers) is listed once, with its first description. */
struct option_list {
    const struct option **options;
    size_t count;
};

struct option_list option_list_make(struct arena *arena, const struct option *const *tables);
const struct option *option_list_find(const struct option_list *list, const char *section,
                                      const char *key);

/* The accepted values: "an integer from 1 to 10", "one of a, b", … */
const char *option_describe(struct arena *arena, const struct option *option);
