/*
 * Spelling suggestion: the known word closest to a misspelt one.
 */
#pragma once

#include <stddef.h>

struct nearest {
    const char *wanted;
    const char *word; /* NULL: none is close enough */
    size_t distance;
};

struct nearest nearest_to(const char *wanted);
void nearest_try(struct nearest *nearest, const char *word);
