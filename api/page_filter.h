/*
 * Filters of lists: one parameter of the query becomes one condition.
 */
#pragma once

#include "api/page.h"

/* The rules' column that clients call `key` (`length` bytes of it), or NULL. */
const struct page_column *page_column_find(const struct page_rules *rules, const char *key,
                                           size_t length);

/* Adds the condition of a parameter that is not paging: 0, or -1 when it is refused. A key that the
 * caller may not filter by is dropped below 3.31 and refused from there on. */
int page_filter(struct request *request, struct page *page, const struct pair *parameter,
                struct error *err);
