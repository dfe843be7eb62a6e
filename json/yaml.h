/*
 * Reads YAML documents as JSON.
 *
 * Supported is the core schema of YAML 1.2: plain null, true, 12, 0x1f, 1.5 are values; quoted
 * scalars and yes, on and 08 are text.  Refused are anchors, aliases and tags (an alias of aliases
 * expands to gigabytes), keys that are not scalars, duplicate keys, numbers without a JSON form,
 * and nesting deeper than 64.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"

#include <jansson.h>
#include <stddef.h>

/* The non-empty documents of `text`, as an array in the arena.  NULL: ERROR_BAD_REQUEST, with line
 * and column. */
json_t *yaml_read(struct arena *arena, const char *text, size_t size, struct error *err);
