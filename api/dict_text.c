#include "api/dict_text.h"

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

static char unescaped(char mark) {
    return mark == 'n' ? '\n' : mark == 't' ? '\t' : mark == 'r' ? '\r' : mark;
}

/* Where the text that `quote` opened ends; its '\0' when it does not. */
static const char *find_quote(const char *at, char quote) {
    while (*at && *at != quote)
        at += *at == '\\' && at[1] ? 2 : 1;
    return at;
}

/* A quoted text; Python 2 put a "u" before it. NULL when there is none. */
static const char *read_text(struct scan *scan) {
    const char *at = scan->at + (*scan->at == 'u'), *stop;
    char *text, *end;

    if (*at != '\'' && *at != '"')
        return NULL;
    stop = find_quote(at + 1, *at);
    if (!*stop)
        return NULL;
    text = end = arena_alloc(scan->arena, (size_t)(stop - at));
    while (++at < stop)
        *end++ = *at == '\\' ? unescaped(*++at) : *at;
    scan->at = stop + 1;
    return text;
}

static bool read_pair(struct scan *scan, struct pair *ret) {
    ret->key = read_text(scan);
    if (!ret->key || !skip_mark(scan, ':'))
        return false;
    ret->value = read_text(scan);
    skip_blanks(scan);
    return ret->value != NULL;
}

static unsigned count_marks(const char *text, char mark) {
    unsigned count = 0;

    for (; *text; text++)
        count += *text == mark;
    return count;
}

bool dict_text_parse(struct arena *arena, const char *text, struct pairs *ret) {
    struct scan scan = { arena, text };
    struct pair *items = arena_alloc(arena, (count_marks(text, ':') + 1) * sizeof *items);
    unsigned count = 0;

    if (!skip_mark(&scan, '{'))
        return false;
    while (*scan.at != '}') {
        if (!read_pair(&scan, &items[count++]) || (*scan.at != '}' && !skip_mark(&scan, ',')))
            return false;
    }
    scan.at++;
    skip_blanks(&scan);
    if (*scan.at)
        return false;
    *ret = (struct pairs){ items, count };
    return true;
}
