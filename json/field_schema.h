/*
 * A row of a table of fields as JSON Schema (2020-12): what field_read() takes, for readers of the
 * API's description.  What a schema cannot say is left open, never closed.
 */
#pragma once

#include "json/field.h"

/* A new reference. */
json_t *field_schema(const struct field *field);
