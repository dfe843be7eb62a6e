/*
 * Text in a URL.
 */
#pragma once

#include "common/arena.h"

#include <stdbool.h>
#include <stddef.h>

/* Each %XX becomes its byte and, in a `form`, '+' a blank; NULL when malformed, or a NUL. */
char *percent_decode(struct arena *arena, const char *text, size_t length, bool form);
