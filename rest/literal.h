/*
 * Values of filters are read as a literal when they parse as one: 5, 'text', None, ['a', 'b'],
 * ("a", "b"); otherwise they are plain text.
 */
#pragma once

#include "common/arena.h"

struct literal {
    const char **texts; /* the value is one of these; NULL is None */
    unsigned count;
};

/* The quoted text at `at` into the arena: returns its end, or NULL when there is none. */
const char *literal_quoted(struct arena *arena, const char *at, const char **ret);

void literal_read(struct arena *arena, const char *text, struct literal *ret);
