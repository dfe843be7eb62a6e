/*
 * What the routes of specs of volume types and of group types share.
 */
#pragma once

#include "api/request.h"
#include "json/field.h"

struct spec_body {
    const json_t *specs;
};

/* Rows: {"<key>": specs}; and the body of PUT …/{key}, which is the spec itself, {key: value}, see
 * ROUTE_ONE_FIELD. */
/* clang-format off */
#define SPEC_FLAGS (FIELD_REQUIRED | FIELD_NULL_VALUES | FIELD_SPEC_KEYS)
#define SPECS_FIELD(key) FIELD_META(struct spec_body, specs, key, SPEC_FLAGS)
#define SPEC_FIELD(key) \
    FIELD(struct spec_body, specs, key, META, SPEC_FLAGS, .min = 1, .max = 1)
/* clang-format on */

/* The spec of such a PUT, which has the key of the path.  NULL: ERROR_BAD_REQUEST. */
const json_t *spec_body_of_path(struct request *request, struct error *err);
/* NULL: there is none. */
const struct pair *spec_named(const struct pairs *specs, const char *key);
