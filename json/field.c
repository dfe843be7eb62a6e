#include "json/field.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/utf8.h"
#include "json/word.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define META_TEXT_MOST  255   /* characters */
#define META_BYTES_MOST 65535 /* of a long value */

#define SHOWN_CHARACTERS 64

static bool is_within(int64_t value, int64_t least, int64_t most) {
    return value >= least && value <= most;
}

const char *field_show(char shown[FIELD_SHOWN_SIZE], const char *text) {
    size_t size = strlen(text), kept = utf8_prefix(text, size, SHOWN_CHARACTERS);

    snprintf(shown, FIELD_SHOWN_SIZE, "'%.*s%s'", (int)kept, text, kept < size ? "…" : "");
    return shown;
}

static const char *show_value(char shown[FIELD_SHOWN_SIZE], const json_t *value) {
    size_t size;

    if (json_is_string(value))
        return field_show(shown, json_string_value(value));
    if (json_is_object(value))
        return "(an object)";
    if (json_is_array(value))
        return "(a list)";
    size =
        json_dumpb(value, shown, FIELD_SHOWN_SIZE - 1, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    shown[size] = '\0';
    return shown;
}

/* The value that is being decoded. */
struct reading {
    struct arena *arena;
    const struct field *field;
    const json_t *value;
    struct error *err;
};

static int field_refuse(const struct reading *reading, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* `format` says what the value must be. */
static int field_refuse(const struct reading *reading, const char *format, ...) {
    char shown[FIELD_SHOWN_SIZE], reason[sizeof(reading->err->message)];
    va_list values;

    va_start(values, format);
    vsnprintf(reason, sizeof(reason), format, values);
    va_end(values);
    return error_set(reading->err, ERROR_BAD_REQUEST, "Invalid value %s for '%s': it must be %s.",
                     show_value(shown, reading->value), reading->field->name, reason);
}

/* ---- text ---- */

/* White space of Unicode, as the clients' languages strip it. */
static bool is_blank(uint32_t c) {
    return is_within(c, 0x09, 0x0d) || is_within(c, 0x1c, 0x20) || c == 0x85 || c == 0xa0 ||
           c == 0x1680 || is_within(c, 0x2000, 0x200a) || c == 0x2028 || c == 0x2029 ||
           c == 0x202f || c == 0x205f || c == 0x3000;
}

static bool is_unprintable(uint32_t c) {
    return c < 0x20 || is_within(c, 0x7f, 0x9f) || c == 0x2028 || c == 0x2029;
}

static bool is_ascii_word(uint32_t c) {
    return is_within(c, 'a', 'z') || is_within(c, 'A', 'Z') || is_within(c, '0', '9');
}

static bool is_one_of(uint32_t c, const char *characters) {
    return c > 0 && c < 0x80 && strchr(characters, (int)c);
}

static bool is_not_of_host(uint32_t c) {
    return !is_ascii_word(c) && !is_one_of(c, "-._#@:/+[]");
}

static bool is_not_of_spec_key(uint32_t c) {
    return !is_ascii_word(c) && !is_one_of(c, "-_:.");
}

static bool is_not_of_meta_key(uint32_t c) {
    return is_not_of_spec_key(c) && c != ' ' && c != '/';
}

static bool has_any(const char *text, size_t size, bool (*is_one)(uint32_t character)) {
    uint32_t character;

    for (size_t i = 0, length; i < size; i += length) {
        length = utf8_next(text + i, size - i, &character);
        if (length == 0 || is_one(character))
            return true;
    }
    return false;
}

/* Returns the size of *text without blanks at both ends, and moves *text to its start. */
static size_t trim(const char **text) {
    const char *start = *text;
    size_t size = strlen(start), kept = 0;
    uint32_t character;

    for (size_t i = 0, length; i < size; i += length) {
        length = utf8_next(start + i, size - i, &character);
        if (length == 0)
            length = 1;
        else if (is_blank(character))
            continue;
        if (kept == 0)
            *text = start + i;
        kept = i + length;
    }
    return kept == 0 ? 0 : kept - (size_t)(*text - start);
}

static int read_text(const struct reading *reading, void *member) {
    const struct field *field = reading->field;
    const char *text = json_string_value(reading->value), *core = text;
    size_t size, core_size, count;

    if (!text)
        return field_refuse(reading, "a string");
    size = strlen(text);
    core_size = trim(&core);
    if ((field->flags & FIELD_NOT_BLANK) && core_size == 0)
        return field_refuse(reading, "more than blanks");
    if ((field->flags & FIELD_TRIM) && core_size < size) {
        text = arena_text_n(reading->arena, core, core_size);
        size = core_size;
    }
    count = utf8_count(text, size);
    if (!is_within((int64_t)count, field->min, field->max == 0 ? INT64_MAX : field->max))
        return field->max == 0
                   ? field_refuse(reading, "at least %" PRId64 " characters long", field->min)
                   : field_refuse(reading, "%" PRId64 " to %" PRId64 " characters long", field->min,
                                  field->max);
    if ((field->flags & FIELD_PRINTABLE) && has_any(text, size, is_unprintable))
        return field_refuse(reading, "free of control characters and line breaks");
    if ((field->flags & FIELD_HOST_CHARS) && has_any(text, size, is_not_of_host))
        return field_refuse(reading, "of letters, digits and -._#@:/+[] only");
    *(const char **)member = text;
    return 0;
}

static int read_word(const struct reading *reading, void *member) {
    const char *text = json_string_value(reading->value);
    const char *const *words = reading->field->words;
    const char *known = words[0];

    for (size_t i = 0; text && words[i]; i++) {
        if (strcmp(text, words[i]) == 0) {
            *(const char **)member = words[i];
            return 0;
        }
    }
    for (size_t i = 1; words[0] && words[i]; i++)
        known = arena_format(reading->arena, "%s, %s", known, words[i]);
    return field_refuse(reading, "one of: %s", known);
}

static int read_uuid(const struct reading *reading, void *member) {
    const char *text = json_string_value(reading->value);
    char uuid[UUID_SIZE];

    if (!text || !uuid_parse(text, uuid))
        return field_refuse(reading, "a UUID");
    *(const char **)member = arena_text(reading->arena, uuid);
    return 0;
}

/* ---- numbers ---- */

static int read_bool(const struct reading *reading, void *member) {
    const char *text = json_string_value(reading->value);

    if (json_is_boolean(reading->value))
        *(bool *)member = json_is_true(reading->value);
    else if (!text || !json_boolean_word(text, false, member))
        return field_refuse(reading, "a boolean");
    return 0;
}

static int store_int(const struct reading *reading, int64_t number, void *member) {
    const struct field *field = reading->field;

    if (!is_within(number, field->min, field->max))
        return field_refuse(reading, "between %" PRId64 " and %" PRId64, field->min, field->max);
    *(int64_t *)member = number;
    return 0;
}

static int read_int(const struct reading *reading, void *member) {
    if (!json_is_integer(reading->value))
        return field_refuse(reading, "an integer");
    return store_int(reading, json_integer_value(reading->value), member);
}

static int read_size(const struct reading *reading, void *member) {
    const char *text = json_string_value(reading->value);
    int64_t number;

    bool below;

    if (!text)
        return read_int(reading, member);
    below = *text == '-' && reading->field->min < 0;
    if (!json_digits(text + below, &number))
        return field_refuse(reading, "an integer or a string of digits");
    return store_int(reading, below ? -number : number, member);
}

/* ---- trees ---- */

static int check_meta_key(const struct reading *reading, const char *key) {
    bool spec = reading->field->flags & FIELD_SPEC_KEYS;
    size_t size = strlen(key);
    char shown[FIELD_SHOWN_SIZE];

    if (!is_within((int64_t)size, 1, META_TEXT_MOST))
        return error_set(reading->err, ERROR_BAD_REQUEST,
                         "Invalid key %s in '%s': it must be 1 to %d characters long.",
                         field_show(shown, key), reading->field->name, META_TEXT_MOST);
    if (has_any(key, size, spec ? is_not_of_spec_key : is_not_of_meta_key))
        return error_set(reading->err, ERROR_BAD_REQUEST,
                         "Invalid key %s in '%s': it must be of letters, digits and %s only.",
                         field_show(shown, key), reading->field->name,
                         spec ? "-_:." : "-_:./ and blanks");
    return 0;
}

static int check_meta_value(const struct reading *reading, const char *key, const json_t *value) {
    unsigned flags = reading->field->flags;
    const char *text = json_string_value(value), *reason = NULL;
    char shown_key[FIELD_SHOWN_SIZE], shown[FIELD_SHOWN_SIZE];

    if (json_is_null(value) && (flags & FIELD_NULL_VALUES))
        return 0;
    if (!text)
        reason = flags & FIELD_NULL_VALUES ? "a string or null" : "a string";
    else if (flags & FIELD_LONG_VALUES)
        reason = strlen(text) > META_BYTES_MOST ? "at most 65535 bytes long" : NULL;
    else if (utf8_count(text, strlen(text)) > META_TEXT_MOST)
        reason = "at most 255 characters long";
    if (!reason)
        return 0;
    return error_set(
        reading->err, ERROR_BAD_REQUEST, "Invalid value %s for key %s in '%s': it must be %s.",
        show_value(shown, value), field_show(shown_key, key), reading->field->name, reason);
}

static int store_tree(const struct reading *reading, void *member) {
    *(const json_t **)member = reading->value;
    return 0;
}

static int check_count(const struct reading *reading, size_t count, const char *what) {
    const struct field *field = reading->field;

    if ((int64_t)count < field->min)
        return field_refuse(reading, "%s of at least %" PRId64 " elements", what, field->min);
    if (field->max > 0 && (int64_t)count > field->max)
        return field_refuse(reading, "%s of at most %" PRId64 " elements", what, field->max);
    return 0;
}

static int read_meta(const struct reading *reading, void *member) {
    json_t *object = (json_t *)reading->value;

    if (!json_is_object(object))
        return field_refuse(reading, "an object");
    if (check_count(reading, json_object_size(object), "an object") < 0)
        return -1;
    for (void *i = json_object_iter(object); i; i = json_object_iter_next(object, i)) {
        const char *key = json_object_iter_key(i);

        if (check_meta_key(reading, key) < 0 ||
            check_meta_value(reading, key, json_object_iter_value(i)) < 0)
            return -1;
    }
    return store_tree(reading, member);
}

static int read_object(const struct reading *reading, void *member) {
    bool or_text = reading->field->flags & FIELD_OR_TEXT;

    if (!json_is_object(reading->value) && !(or_text && json_is_string(reading->value)))
        return field_refuse(reading, or_text ? "an object or a string" : "an object");
    return store_tree(reading, member);
}

static int read_list(const struct reading *reading, void *member) {
    if (!json_is_array(reading->value))
        return field_refuse(reading, "a list");
    if (check_count(reading, json_array_size(reading->value), "a list") < 0)
        return -1;
    return store_tree(reading, member);
}

static int (*const readers[])(const struct reading *reading, void *member) = {
    [FIELD_TYPE_TEXT] = read_text, [FIELD_TYPE_BOOL] = read_bool,     [FIELD_TYPE_UUID] = read_uuid,
    [FIELD_TYPE_SIZE] = read_size, [FIELD_TYPE_INT] = read_int,       [FIELD_TYPE_META] = read_meta,
    [FIELD_TYPE_WORD] = read_word, [FIELD_TYPE_OBJECT] = read_object, [FIELD_TYPE_LIST] = read_list,
    [FIELD_TYPE_ANY] = store_tree,
};

int field_read(struct arena *arena, const struct field *field, const json_t *value, void *member,
               struct error *err) {
    const struct reading reading = { arena, field, value, err };

    assert(field->type > FIELD_TYPE_END && field->type < LENGTH(readers));
    return readers[field->type](&reading, member);
}
