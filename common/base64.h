/*
 * Bytes as base64 with padding; white space in it is ignored.
 */
#pragma once

#include "common/arena.h"

#include <stddef.h>

const char *base64_text(struct arena *arena, const void *bytes, size_t size);
/* NULL: the text is not base64. */
void *base64_bytes(struct arena *arena, const char *text, size_t size, size_t *ret_size);
