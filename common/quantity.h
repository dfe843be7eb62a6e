/*
 * Quantities as documents write them: "10Gi", "1.5G", "1e9", "500m".  Compared by value (P15).
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>

/* The value in whole units, a broken one rounded up.  False when it is none, is below 0, or is more
 * than 2^63 - 1. */
bool quantity_read(const char *text, int64_t *ret);

/* The shortest text of `value`: of the largest binary suffix that leaves nothing over. */
char *quantity_text(struct arena *arena, int64_t value);
