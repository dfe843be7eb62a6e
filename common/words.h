/*
 * Words in lists and as hash keys.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline bool words_have(const char *const *words, size_t count, const char *word) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(words[i], word) == 0)
            return true;
    return false;
}

/* Of a list ended with NULL; NULL is an empty one. */
static inline bool words_list_has(const char *const *words, const char *word) {
    for (; words && *words; words++)
        if (strcmp(*words, word) == 0)
            return true;
    return false;
}

/* FNV-1a. */
static inline uint32_t word_hash(const char *word) {
    uint32_t hash = 2166136261U;

    for (; *word; word++)
        hash = (hash ^ (unsigned char)*word) * 16777619U;
    return hash;
}
