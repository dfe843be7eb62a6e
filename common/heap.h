/*
 * Memory outside of arenas, released by its owner with free(). A failed allocation stops the
 * process, as in an arena.
 */
#pragma once

#include <stddef.h>

void *heap_new(size_t size); /* zeroed */
/* In the place of `memory`, which is freed (NULL: none): its first `used` bytes, and zeros. */
void *heap_grow(void *memory, size_t used, size_t size);
char *heap_text(const char *text);
