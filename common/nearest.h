/*
 * The word that somebody may have meant who wrote another one.
 */
#pragma once

#include <stddef.h>

struct nearest {
    const char *wanted;
    const char *word; /* NULL: none is near enough */
    size_t distance;
};

struct nearest nearest_to(const char *wanted);
void nearest_try(struct nearest *nearest, const char *word);
