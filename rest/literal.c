#include "rest/literal.h"

#include <stdbool.h>
#include <string.h>

static const char *skip_blanks(const char *at) {
    return at + strspn(at, " \t");
}

static char unescaped(char mark) {
    return mark == 'n' ? '\n' : mark == 't' ? '\t' : mark == 'r' ? '\r' : mark;
}

/* It allocates only its own text: a list has thousands. */
const char *literal_quoted(struct arena *arena, const char *at, const char **ret) {
    char quote = *at;
    const char *stop;
    char *text, *end;

    if (quote != '\'' && quote != '"')
        return NULL;
    for (stop = at + 1; *stop && *stop != quote;)
        stop += *stop == '\\' && stop[1] ? 2 : 1;
    if (!*stop)
        return NULL;
    text = end = arena_alloc(arena, (size_t)(stop - at));
    while (++at < stop)
        *end++ = *at == '\\' ? unescaped(*++at) : *at;
    *ret = text;
    return stop + 1;
}

/* A text in quotes, or a number or a name, used as text; None is NULL. */
static const char *read_one(struct arena *arena, const char *at, const char **ret) {
    const char *end = literal_quoted(arena, at, ret);
    size_t length;
    bool name = false;

    if (end)
        return end;
    length = strcspn(at, " \t,])");
    for (const char *const *word = (const char *const[]){ "None", "True", "False", NULL }; *word;
         word++)
        name |= length == strlen(*word) && strncmp(at, *word, length) == 0;
    if (length == 0 || (!name && strspn(at, "+-.0123456789eE") < length))
        return NULL;
    *ret = strncmp(at, "None", length) == 0 ? NULL : arena_text_n(arena, at, length);
    return at + length;
}

static bool read_list(struct arena *arena, const char *at, struct literal *list) {
    char close = *at == '[' ? ']' : ')';

    if (*at != '[' && *at != '(')
        return false;
    at = skip_blanks(at + 1);
    while (*at != close) {
        at = read_one(arena, at, &list->texts[list->count++]);
        if (!at)
            return false;
        at = skip_blanks(at);
        if (*at == ',')
            at = skip_blanks(at + 1);
        else if (*at != close)
            return false;
    }
    return *skip_blanks(at + 1) == '\0';
}

void literal_read(struct arena *arena, const char *text, struct literal *ret) {
    const char *at = skip_blanks(text), *end;
    size_t most = 2;

    for (const char *comma = text; *comma; comma++)
        most += *comma == ',';
    *ret = (struct literal){ .texts = arena_alloc(arena, most * sizeof(char *)) };
    if (read_list(arena, at, ret))
        return;
    end = read_one(arena, at, &ret->texts[0]);
    if (!end || *skip_blanks(end) != '\0')
        ret->texts[0] = text;
    ret->count = 1;
}
