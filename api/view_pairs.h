/*
 * Pairs in responses.
 */
#pragma once

#include "ledger/pairs.h"
#include "json/out.h"

/* An object of strings. */
void view_pairs(struct json_out *out, const struct pairs *pairs);
