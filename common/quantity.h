/*
 * Quantities in documents: "10Gi", "1.5G", "1e9", "500m". Compared by value (P15).
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>

/* The value, rounded up to whole units.  False when malformed, negative or above 2^63 - 1. */
bool quantity_read(const char *text, int64_t *ret);

/* The shortest text of `value`: with the largest binary suffix that divides it. */
char *quantity_text(struct arena *arena, int64_t value);
