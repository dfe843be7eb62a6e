/*
 * A row of a table of fields as JSON Schema (2020-12), for the description of the API: accepts all
 * that field_read() accepts.  Constraints that a schema cannot express are omitted.
 */
#pragma once

#include "json/field.h"

/* A new reference. */
json_t *field_schema(const struct field *field);
