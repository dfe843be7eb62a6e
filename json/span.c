#include "json/span.h"

#include <jansson.h>
#include <string.h>

/* ---- the text after a value; NULL: unexpected end ---- */

static const char *behind_blanks(const char *at, const char *end) {
    while (at < end && memchr(" \t\r\n", *at, 4))
        at++;
    return at;
}

static const char *behind_string(const char *at, const char *end) {
    for (at++; at < end; at++) {
        if (*at == '\\')
            at++;
        else if (*at == '"')
            return at + 1;
    }
    return NULL;
}

static const char *behind_word(const char *at, const char *end) {
    while (at < end && !memchr(",]} \t\r\n", *at, 7))
        at++;
    return at;
}

static const char *behind_value(const char *at, const char *end) {
    size_t depth = 0;

    while (at && at < end) {
        if (*at == '"')
            at = behind_string(at, end);
        else if (*at == '{' || *at == '[')
            depth++, at++;
        else if (*at != '}' && *at != ']')
            at = depth > 0 ? at + 1 : behind_word(at, end);
        else if (depth-- > 0)
            at++;
        else
            return NULL;
        if (depth == 0)
            return at;
    }
    return NULL;
}

/* The start of the next value of a list or an object; NULL: that was the last. */
static const char *next_begin(struct json_span rest, const char *signs) {
    const char *at = behind_blanks(rest.begin, rest.end);

    if (at >= rest.end || !memchr(signs, *at, 2))
        return NULL;
    at = behind_blanks(at + 1, rest.end);
    return at < rest.end ? at : NULL;
}

/* ---- search ---- */

bool json_span_next(struct json_span *list, struct json_span *ret) {
    const char *begin = next_begin(*list, "[,"), *end;

    end = begin && *begin != ']' ? behind_value(begin, list->end) : NULL;
    if (!end)
        return false;
    *ret = (struct json_span){ begin, end };
    list->begin = end;
    return true;
}

/* The next member: its name and its value. */
static bool next_member(struct json_span *object, struct json_span *ret_name,
                        struct json_span *ret) {
    const char *begin = next_begin(*object, "{,"), *end;

    end = begin && *begin == '"' ? behind_string(begin, object->end) : NULL;
    if (!end)
        return false;
    *ret_name = (struct json_span){ begin, end };
    begin = next_begin((struct json_span){ end, object->end }, "::");
    end = begin ? behind_value(begin, object->end) : NULL;
    if (!end)
        return false;
    *ret = (struct json_span){ begin, end };
    object->begin = end;
    return true;
}

bool json_span_member(struct json_span object, const char *name, struct json_span *ret) {
    size_t length = strlen(name);
    struct json_span found, value; /* `found` is in quotes */

    while (next_member(&object, &found, &value)) {
        if ((size_t)(found.end - found.begin) - 2 != length ||
            memcmp(found.begin + 1, name, length) != 0)
            continue;
        *ret = value;
        return true;
    }
    return false;
}

bool json_span_begins(struct json_span value, const char *text) {
    size_t length = strlen(text), size = (size_t)(value.end - value.begin);

    return size >= length + 2 && *value.begin == '"' && memcmp(value.begin + 1, text, length) == 0;
}

bool json_span_is(struct json_span value, const char *text) {
    return json_span_begins(value, text) && (size_t)(value.end - value.begin) == strlen(text) + 2;
}

const char *json_span_text(struct arena *arena, struct json_span value) {
    json_t *read =
        value.begin < value.end && *value.begin == '"'
            ? json_loadb(value.begin, (size_t)(value.end - value.begin), JSON_DECODE_ANY, NULL)
            : NULL;
    const char *text = arena_text(arena, json_string_value(read));

    json_decref(read);
    return text;
}
