#include "rest/page_pairs.h"

#include "rest/dict_text.h"

/* More pairs are of no use in a filter, and statements are limited in size. */
#define PAIRS_MOST 32

void page_sought_pair(struct request *request, struct page *page, const struct pair_rows *rows,
                      const struct pair *pair) {
    const struct db_value values[] = { DB_TEXT(pair->key), DB_TEXT(pair->value) };
    struct arena *arena = request->work.arena;
    const char *alias = page->resource->alias;

    if (page->lead) {
        page_and(request, page,
                 arena_format(arena, PAGE_HAS_PAIR("%s", "%s = %s.id", "m.value = ?"), rows->table,
                              rows->owner, alias),
                 values, 2);
        return;
    }
    page->lead = rows;
    page->query.join =
        arena_format(arena, " JOIN %s pair ON pair.%s = %s.id", rows->table, rows->owner, alias);
    page_and(request, page, "pair.key = ? AND pair.value = ?", values, 2);
}

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
