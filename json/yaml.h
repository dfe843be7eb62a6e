/*
 * YAML as the JSON that it says: what people write documents in.
 *
 * Of YAML 1.2 the core schema is understood: plain null, true, 12, 0x1f, 1.5 are values, everything
 * in quotes is text, and so are yes, on and 08.  Anchors, aliases and tags are refused (an alias
 * of aliases makes gigabytes of a line), as are keys that are no scalars or stand twice, numbers
 * that JSON does not have, and what nests deeper than 64.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"

#include <jansson.h>
#include <stddef.h>

/* The documents of `text` that are not empty, as an array in the arena.  NULL: ERROR_BAD_REQUEST,
 * with line and column. */
json_t *yaml_read(struct arena *arena, const char *text, size_t size, struct error *err);
