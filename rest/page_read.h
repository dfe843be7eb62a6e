/*
 * Parses the query of a list: paging, sorting, filters, project.
 */
#pragma once

#include "rest/page.h"

/*
 * Parses paging, sorting, filters, all_tenants (admins), with_count (3.45). With `by_project`,
 * callers other than admins requesting all get alias.project_id = their own.  A marker invisible to
 * the caller is refused.  A table must have the columns id and created_at, never NULL: they end
 * every order.
 */
int page_read(struct request *request, const struct resource *resource, struct page *ret,
              struct error *err);
/* The project of the caller, or NULL: all.  all_tenants is ignored for callers other than
 * admins. */
int page_read_project(struct request *request, const struct resource *resource, const char **ret,
                      struct error *err);
