/*
 * Matches the extra specs of a volume type with the capabilities of a pool.
 *
 * A key without scope, or with the scope "capabilities", names a capability ("capabilities:a:b" one
 * inside an object); keys of other scopes are not for placement.  The value is compared as it is,
 * or begins with an operator: = (at least) == != >= <= of numbers, s== s!= s< s<= s> s>= of text,
 * <is> of truth, <in> a part of the text, <all-in> each a part of it, <or> one of several.
 * A capability that is a list matches when one of its elements does.  A key that the pool names in
 * its POOL_EXTRA_SPECS is for the driver, and matches whatever its value.
 */
#pragma once

#include "model/volume/volume.h"

#include <jansson.h>

/* Has any spec a requirement for the pool? */
bool capability_needed(const struct pairs *specs);
bool capability_matches(const json_t *capabilities, const struct pairs *specs);
