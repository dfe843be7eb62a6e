/*
 * Lists of words.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static inline bool words_have(const char *const *words, size_t count, const char *word) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(words[i], word) == 0)
            return true;
    return false;
}
