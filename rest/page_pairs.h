/*
 * The filters `metadata`, `glance_metadata` and `extra_specs` of lists: pairs that a row must have,
 * as the text of a Python dict: {'key': 'value'}.
 */
#pragma once

#include "operation/pairs.h"
#include "rest/page.h"

/* Adds the condition of one pair. */
typedef void page_match(struct request *request, struct page *page, const struct pair *pair);

/* For struct resource's filter: 1, or -1 when there are too many pairs.  A text that is not a dict
 * matches nothing. */
int page_filter_pairs(struct request *request, struct page *page, const char *key, const char *text,
                      page_match *match, struct error *err);

/* The rows of the page have this pair among `rows`, which have an index for it.  The first such
 * pair of a page leads to its rows: others are not read, and nothing is sorted. */
void page_sought_pair(struct request *request, struct page *page, const struct pair_rows *rows,
                      const struct pair *pair);
