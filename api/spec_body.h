/*
 * What the routes of specs of volume types and of group types share.
 */
#pragma once

#include "api/request.h"

struct field;

struct spec_body {
    const json_t *specs;
};

/* The body of PUT …/{key} is the spec itself, {key: value}, with the key of the path: decoded by
 * `fields`, whose one row fills a struct spec_body.  NULL: ERROR_BAD_REQUEST. */
const json_t *spec_body_of_path(struct request *request, const struct field *fields,
                                struct error *err);
/* NULL: there is none. */
const struct pair *spec_named(const struct pairs *specs, const char *key);
