/*
 * The API as an OpenAPI 3.1 document, generated from its tables: routes, fields of bodies, columns
 * of resources, shapes of responses.  Microversions are in "x-openstack": "min-ver" is the first
 * with an operation, a parameter or a property, "action-name" the key that selects among the
 * actions of a path.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

/* A new reference. */
json_t *openapi_document(void);

/* The same as compact text, generated once and cached. */
const char *openapi_text(size_t *ret_size);
