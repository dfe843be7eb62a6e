/*
 * The filters `metadata`, `glance_metadata` and `extra_specs` of lists: what a row must have, as
 * the text of a Python dict: {'key': 'value'}.
 */
#pragma once

#include "api/page.h"

/* Adds the condition of one pair. */
typedef void page_match(struct request *request, struct page *page, const struct pair *pair);

/* For struct resource's filter: 1, or -1 when there are too many pairs.  A text that is no dict
 * matches nothing. */
int page_filter_pairs(struct request *request, struct page *page, const char *key, const char *text,
                      page_match *match, struct error *err);
