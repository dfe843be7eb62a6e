/*
 * The filters `metadata`, `glance_metadata` and `extra_specs` of the API's lists have their pairs
 * as the text of a Python dict: {'key': 'value', "other": "value"}.
 */
#pragma once

#include "operation/pairs.h"

#include <stdbool.h>

/* False when the text is not a dict of strings. */
bool dict_text_parse(struct arena *arena, const char *text, struct pairs *ret);
