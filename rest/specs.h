/*
 * Specs of volume types and of group types: handlers of their routes, for any resource with
 * `specs`.
 */
#pragma once

#include "rest/request.h"
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

int specs_list(struct request *request, struct error *err);
int specs_show(struct request *request, struct error *err);
int specs_add(struct request *request, struct error *err);
int specs_set(struct request *request, struct error *err); /* that of the path */
int specs_remove(struct request *request, struct error *err);
