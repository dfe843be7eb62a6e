/*
 * The API as an OpenAPI 3.1 document, made of its tables: routes, fields of bodies, columns of
 * resources, shapes of answers.  Microversions stand in "x-openstack": "min-ver" is the first that
 * has an operation, a parameter or a property, "action-name" the key that chooses among the
 * actions of a path.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

/* A new reference. */
json_t *openapi_document(void);

/* The same as compact text, made once and kept: nobody's wish makes it again. */
const char *openapi_text(size_t *ret_size);
