/*
 * UTF-8 as its standard defines it: no overlong forms, no surrogates, nothing above U+10FFFF.
 *
 * Sizes are bytes, counts are characters (code points).  A byte that belongs to no well-formed
 * character counts as one character.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Length (1…4) of the character at the start of `text`, 0 when it is malformed. */
size_t utf8_next(const char *text, size_t size, uint32_t *ret_character);

/* One that a terminal may obey, that ends a line, or that changes the direction of the text around
 * it, so that it reads as another: escaped or replaced wherever a foreign text is shown. */
bool utf8_is_control(uint32_t character);

bool utf8_valid(const char *text, size_t size);
size_t utf8_count(const char *text, size_t size);

/* Bytes of the first `count` characters, at most `size`. */
size_t utf8_prefix(const char *text, size_t size, size_t count);

/* The largest number of bytes, at most `most`, that does not split a character of `text`. */
size_t utf8_cut(const char *text, size_t size, size_t most);
