/*
 * Pairs in responses.
 */
#pragma once

#include "operation/pairs.h"
#include "json/out.h"

/* An object of strings. */
void view_pairs(struct json_out *out, const struct pairs *pairs);
