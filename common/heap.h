/*
 * Memory outside of arenas, released by its owner with free(). A failed allocation stops the
 * process, as in an arena.
 */
#pragma once

#include <stddef.h>

void *heap_new(size_t size); /* zeroed */
char *heap_text(const char *text);
