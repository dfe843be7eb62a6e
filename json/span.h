/*
 * Finds values in JSON text without parsing them: deep nesting, long texts or unsupported numbers
 * in one value do not affect the others.  A result is a part of the text; its reader validates it.
 */
#pragma once

#include "common/arena.h"

#include <stdbool.h>
#include <stddef.h>

struct json_span {
    const char *begin, *end;
};

/* The value of the object's first member with this name; false: there is none. */
bool json_span_member(struct json_span object, const char *name, struct json_span *ret);

/* The next item of a list, which is advanced; false: there is none. */
bool json_span_next(struct json_span *list, struct json_span *ret);

/* Is it a string that begins with the text, or equals it?  The text has no character that JSON
 * escapes. */
bool json_span_begins(struct json_span value, const char *text);
bool json_span_is(struct json_span value, const char *text);

/* The value of a string, in the arena; NULL: not a string. */
const char *json_span_text(struct arena *arena, struct json_span value);
