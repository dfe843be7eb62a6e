#include "config/value.private.h"

#include "common/cleanup.h"
#include "config/host_name.h"
#include "config/option_list.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* min == max: no range; seconds are never negative. */
static bool parse_integer(struct value *value, const char *text) {
    const struct option *option = value->option;
    char *end;

    errno = 0;
    value->integer = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0)
        return false;
    if (option->min == option->max)
        return option->type != OPTION_SECONDS || value->integer >= 0;
    return value->integer >= option->min && value->integer <= option->max;
}

static bool parse_float(struct value *value, const char *text) {
    const struct option *option = value->option;
    char *end;

    value->real = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(value->real))
        return false;
    return option->min == option->max ||
           (value->real >= (double)option->min && value->real <= (double)option->max);
}

static bool parse_bool(struct value *value, const char *text) {
    static const char *const words[] = { "false", "true", "no", "yes", "off", "on", "0", "1" };

    for (unsigned i = 0; i < LENGTH(words); i++) {
        if (strcasecmp(text, words[i]) == 0) {
            value->integer = i % 2;
            return true;
        }
    }
    return false;
}

static bool parse_word(struct value *value, const char *text) {
    for (const char *const *word = value->option->words; *word; word++) {
        if (strcmp(text, *word) == 0)
            return true;
    }
    return false;
}

static bool parse_text(struct value *value, const char *text) {
    (void)value, (void)text;
    return true;
}

static bool parse_host(struct value *value, const char *text) {
    (void)value;
    return host_name_is_node(text);
}

static bool (*const parsers[])(struct value *value, const char *text) = {
    [OPTION_TEXT] = parse_text,       [OPTION_INT] = parse_integer, [OPTION_FLOAT] = parse_float,
    [OPTION_BOOL] = parse_bool,       [OPTION_WORD] = parse_word,   [OPTION_LIST] = parse_text,
    [OPTION_SECONDS] = parse_integer, [OPTION_HOST] = parse_host,
};

const char **value_split_list(struct arena *arena, const char *text) {
    const char **items = arena_alloc(arena, (strlen(text) / 2 + 2) * sizeof(*items));
    size_t count = 0;

    while (*text) {
        size_t length = strcspn(text, ","), start = strspn(text, " \t"), end = length;
        size_t next = length + (text[length] == ',');

        while (end > start && strchr(" \t", text[end - 1]))
            end--;
        if (end > start)
            items[count++] = arena_text_n(arena, text + start, end - start);
        text += next;
    }
    return items;
}

int value_assign(struct arena *arena, struct value *value, const char *text, const char *place,
                 struct error *err) {
    const struct option *option = value->option;
    struct value parsed = *value;

    if (!parsers[option->type](&parsed, text))
        return error_set(err, ERROR_BAD_REQUEST, "%s: [%s] %s = %s: must be %s", place,
                         value->section, option->key, option->secret ? "(hidden)" : text,
                         option_describe(arena, option));
    parsed.text = arena_text(arena, text);
    if (option->type == OPTION_LIST)
        parsed.items = value_split_list(arena, text);
    parsed.given = true;
    *value = parsed;
    return 0;
}
