/*
 * Filters of lists: one parameter of the query becomes one condition.
 */
#pragma once

#include "rest/page.h"

/* Adds the condition of a parameter other than paging: 0, or -1 when it is refused.  A key that the
 * caller may not filter by is dropped below 3.31 and refused from there on. */
int page_filter(struct request *request, struct page *page, const struct pair *parameter,
                struct error *err);
/* resource->narrow() of types: admins select by is_public (none: all) among the `visible` and
 * private ones; other callers get the visible ones. */
int page_filter_public(struct request *request, struct page *page, struct error *err);
