/*
 * Booleans and numbers as text, in the forms that the API accepts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The boolean words of the API ("1 t true True … / 0 f false …"); case-blind when `any_case`. */
bool json_boolean_word(const char *text, bool any_case, bool *ret);
/* The i-th of them; NULL after the last. */
const char *json_boolean_name(size_t i);

/* A whole number without sign, blanks or underscores; false when it does not fit. */
bool json_digits(const char *text, int64_t *ret);
