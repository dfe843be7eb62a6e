/*
 * Percent-encoding of URLs.
 */
#pragma once

#include "common/arena.h"

#include <stdbool.h>
#include <stddef.h>

/* Decodes %XX and, in a `form`, '+' as a blank; NULL when malformed or when there is a NUL. */
char *percent_decode(struct arena *arena, const char *text, size_t length, bool form);
/* Decodes %XX; a '%' before anything else stays.  NULL when there is a NUL in the text. */
char *percent_decode_lenient(struct arena *arena, const char *text, size_t length);
