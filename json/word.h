/*
 * Truth and numbers in text, as the API takes them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The boolean words of the API ("1 t true True … / 0 f false …"); case-blind when `any_case`. */
bool json_boolean_word(const char *text, bool any_case, bool *ret);
/* The i-th of them; NULL behind the last. */
const char *json_boolean_name(size_t i);

/* A whole number without sign, blanks or underscores; refuses what does not fit. */
bool json_digits(const char *text, int64_t *ret);
