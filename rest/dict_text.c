#include "rest/dict_text.h"

#include "rest/literal.h"

#include <string.h>

struct scan {
    struct arena *arena;
    const char *at;
};

static void skip_blanks(struct scan *scan) {
    scan->at += strspn(scan->at, " \t\r\n");
}

static bool skip_mark(struct scan *scan, char mark) {
    skip_blanks(scan);
    if (*scan->at != mark)
        return false;
    scan->at++;
    skip_blanks(scan);
    return true;
}

/* A quoted text; Python 2 prefixed it with "u". NULL when there is none. */
static const char *read_text(struct scan *scan) {
    const char *text;
    const char *end = literal_quoted(scan->arena, scan->at + (*scan->at == 'u'), &text);

    if (!end)
        return NULL;
    scan->at = end;
    return text;
}

bool dict_text_parse(struct arena *arena, const char *text, struct pairs *ret) {
    struct scan scan = { arena, text };
    unsigned most = 1, count = 0;
    struct pair *items;

    for (const char *at = text; *at; at++)
        most += *at == ':';
    items = arena_alloc(arena, most * sizeof *items);
    if (!skip_mark(&scan, '{'))
        return false;
    while (*scan.at != '}') {
        struct pair *item = &items[count++];

        item->key = read_text(&scan);
        if (!item->key || !skip_mark(&scan, ':'))
            return false;
        item->value = read_text(&scan);
        skip_blanks(&scan);
        if (!item->value || (*scan.at != '}' && !skip_mark(&scan, ',')))
            return false;
    }
    scan.at++;
    skip_blanks(&scan);
    if (*scan.at)
        return false;
    *ret = (struct pairs){ items, count };
    return true;
}
