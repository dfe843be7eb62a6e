/*
 * What ALONE_HEADER (common/alone_header.h) asks for, in the transaction that makes the object: of
 * two requests at once the second one sees what the first has made.
 */
#pragma once

#include "api/resource.h"
#include "ledger/pairs.h"

/* By the pair that the header names.  ERROR_CONFLICT: the project has one with it. */
int alone_check_pair(struct request *request, const struct resource *resource,
                     const struct pairs *metadata, struct error *err);
/* The same of what has no metadata, where the header says "name". */
int alone_check_name(struct request *request, const struct resource *resource, const char *name,
                     const char *description, struct error *err);
