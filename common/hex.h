/*
 * Bytes as lower-case hexadecimal digits, two for each.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* `ret` has room for 2 * size digits and the end. */
void hex_encode(const void *bytes, size_t size, char *ret);
/* The first 2 * size digits.  false: another character is among them, and `ret` is of no use. */
bool hex_decode(const char *digits, void *ret, size_t size);
