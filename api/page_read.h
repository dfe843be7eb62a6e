/*
 * The query of a list: paging, sorting, filters, whose objects.
 */
#pragma once

#include "api/page.h"

/*
 * Reads the query: paging, sorting, filters, all_tenants (admins), with_count (3.45).  With
 * `by_project`, callers that are no admin or did not ask for all get alias.project_id = their own.
 * A marker that the caller does not see is none.
 * A table must have the columns id and created_at, never NULL: they end every order.
 */
int page_read(struct request *request, const struct resource *resource, struct page *ret,
              struct error *err);
/* The project that the caller is held to, or NULL.  all_tenants of others than admins is
 * nothing. */
int page_read_project(struct request *request, const struct resource *resource, const char **ret,
                      struct error *err);
