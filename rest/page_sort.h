/*
 * The order of a list, and the condition that starts a page after its marker: the marker row's own
 * sort values are looked up, so the cost of a page does not depend on its position.
 */
#pragma once

#include "rest/page.h"

#define SORT_KEYS 16

struct page_sort {
    struct {
        const char *sql; /* never NULL in any row: both engines then agree on the order */
        bool descending, text;
    } keys[SORT_KEYS + 2];
    unsigned count;
};

/* Parses sort, sort_key and sort_dir. */
int page_sort_read(struct request *request, const struct page *page, struct page_sort *ret,
                   struct error *err);
/* Sets page->query.order, after the filters: the leading pair has their order. */
void page_sort_set(struct request *request, struct page *page, const struct page_sort *sort);
/* Looks up the row `id` and sets the page's marker condition.  `visible` (or NULL): the condition
 * of visibility, "?" is `project_id`. */
int page_marker_read(struct request *request, struct page *page, const struct page_sort *sort,
                     const char *id, const char *visible, const char *project_id,
                     struct error *err);
