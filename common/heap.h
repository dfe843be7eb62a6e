/*
 * Memory that is no arena's: its owner gives it back with free().  An allocation that fails stops
 * the process, as in an arena.
 */
#pragma once

#include <stddef.h>

void *heap_new(size_t size); /* zeroed */
char *heap_text(const char *text);
