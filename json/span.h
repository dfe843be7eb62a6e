/*
 * Values within a text of JSON, found without being read: whatever nests, is long or no number of
 * ours in a value keeps nobody from those beside it.  What is found is a piece of the text; whether
 * it is JSON is seen by whoever reads it.
 */
#pragma once

#include "common/arena.h"

#include <stdbool.h>
#include <stddef.h>

struct json_span {
    const char *begin, *end;
};

/* The value of an object's member, the first of this name; false: there is none. */
bool json_span_member(struct json_span object, const char *name, struct json_span *ret);

/* The next item of a list, which is the rest of it from then on; false: there is none. */
bool json_span_next(struct json_span *list, struct json_span *ret);

/* What a string says, in the arena; NULL: it is none. */
const char *json_span_text(struct arena *arena, struct json_span value);
