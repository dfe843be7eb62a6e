#include "api/page_pairs.h"

#include "api/dict_text.h"

/* More pairs than this in one filter serve nobody, and a statement's size has limits. */
#define PAIRS_MOST 32

int page_filter_pairs(struct request *request, struct page *page, const char *key, const char *text,
                      page_match *match, struct error *err) {
    struct pairs pairs = { 0 };

    if (!dict_text_parse(request->work.arena, text, &pairs))
        page->empty = true;
    if (pairs.count > PAIRS_MOST)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid filter %s: %u pairs are given, at most %d can be.", key,
                         pairs.count, PAIRS_MOST);
    for (unsigned i = 0; i < pairs.count; i++)
        match(request, page, &pairs.items[i]);
    return 1;
}
