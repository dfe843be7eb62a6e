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

static inline uint64_t word_hash_add(uint64_t hash, uint64_t part) {
    hash = (hash ^ part) * 0x9e3779b97f4a7c15U;
    return hash ^ hash >> 32;
}

/* Eight bytes at a time: each multiplication waits for the one before it. */
static inline uint32_t word_hash(const char *word) {
    size_t size = strlen(word);
    uint64_t hash = word_hash_add(0, size), part;

    for (; size >= sizeof(part); word += sizeof(part), size -= sizeof(part)) {
        memcpy(&part, word, sizeof(part));
        hash = word_hash_add(hash, part);
    }
    for (part = 0; size > 0; size--)
        part = part << 8 | (unsigned char)word[size - 1];
    return (uint32_t)word_hash_add(hash, part);
}
