/*
 * The value of one option, parsed by the option's type.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"
#include "config/option.h"

/* One key of one section, resolved. */
struct value {
    const char *section; /* of a backend's option: the name of the backend */
    const struct option *option;
    const char *text; /* NULL: unset */
    bool given;
    int64_t integer; /* of a boolean too */
    double real;
    const char **items; /* of a list; ended with NULL */
};

/* `place` is the origin of the text: "/etc/x.conf:12", "environment SCORIA_X", "command line --x".
 * ERROR_BAD_REQUEST: not a value of the option, and nothing has changed. */
int value_assign(struct arena *arena, struct value *value, const char *text, const char *place,
                 struct error *err);

/* Items separated by commas, trimmed, without empty ones; ended with NULL. */
const char **value_split_list(struct arena *arena, const char *text);
