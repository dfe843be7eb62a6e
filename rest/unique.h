/*
 * Uniqueness by UNIQUE_HEADER (common/scoria_headers.h), in the transaction that creates the
 * object: of two concurrent requests the second one sees the object of the first.
 */
#pragma once

#include "operation/pairs.h"
#include "rest/resource.h"

/* By the pair in the header.  ERROR_CONFLICT: the project has an object with it. */
int unique_check_pair(struct request *request, const struct resource *resource,
                      const struct pairs *metadata, struct error *err);
/* The same for objects without metadata, where the header is "name". */
int unique_check_name(struct request *request, const struct resource *resource, const char *name,
                      const char *description, struct error *err);
