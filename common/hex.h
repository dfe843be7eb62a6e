/*
 * Bytes as lower-case hexadecimal digits, two for each.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* `ret` has room for 2 * size digits and NUL. */
void hex_encode(const void *bytes, size_t size, char *ret);
/* Decodes the first 2 * size digits.  false: one is not a digit, and `ret` is undefined. */
bool hex_decode(const char *digits, void *ret, size_t size);
