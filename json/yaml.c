#include "json/yaml.h"

#include "common/cleanup.h"
#include "common/heap.h"
#include "common/words.h"
#include "json/json.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#define DEPTH_MOST 64
#define SIZE_MOST  ((size_t)1024 * 1024)

struct reader {
    yaml_parser_t parser;
    yaml_event_t event; /* the current event */
    bool has_event;
    unsigned depth;
    struct error *err;
};

/* ---- events ---- */

static int refuse_at(struct reader *reader, const yaml_mark_t *mark, const char *why) {
    return error_set(reader->err, ERROR_BAD_REQUEST, "line %zu, column %zu: %s", mark->line + 1,
                     mark->column + 1, why);
}

static int yaml_refuse(struct reader *reader, const char *why) {
    return refuse_at(reader, &reader->event.start_mark, why);
}

static int next_event(struct reader *reader) {
    if (reader->has_event)
        yaml_event_delete(&reader->event);
    reader->has_event = yaml_parser_parse(&reader->parser, &reader->event);
    if (reader->has_event)
        return 0;
    return refuse_at(reader, &reader->parser.problem_mark,
                     reader->parser.problem ? reader->parser.problem : "this is no YAML");
}

/* ---- scalars ---- */

/* Digits of the base only; a number beyond JSON's integers is text. */
static json_t *read_integer(const char *text) {
    const char *digits = text + (*text == '-' || *text == '+');
    int base = 10;
    char *end;
    long long value;

    if (strncmp(text, "0x", 2) == 0 || strncmp(text, "0o", 2) == 0) {
        base = text[1] == 'x' ? 16 : 8;
        digits = text + 2;
    }
    if (*digits == '\0' ||
        digits[strspn(digits, base == 16  ? "0123456789abcdefABCDEF"
                              : base == 8 ? "01234567"
                                          : "0123456789")] != '\0' ||
        (base == 10 && digits[0] == '0' && digits[1] != '\0'))
        return NULL;
    errno = 0;
    value = strtoll(base == 10 ? text : digits, &end, base);
    return errno == 0 && *end == '\0' ? json_integer(value) : NULL;
}

static json_t *read_real(const char *text) {
    const char *digits = text + (*text == '-' || *text == '+');
    size_t whole = strspn(digits, "0123456789");
    char *end;
    double value;

    if (strspn(digits, "0123456789.eE+-") != strlen(digits) ||
        (whole == 0 && !(digits[0] == '.' && digits[1] >= '0' && digits[1] <= '9')) ||
        (digits[whole] != '.' && digits[whole] != 'e' && digits[whole] != 'E'))
        return NULL;
    value = strtod(text, &end);
    return *end == '\0' && isfinite(value) ? json_real(value) : NULL;
}

static json_t *read_plain(const char *text) {
    static const char *const nulls[] = { "", "~", "null", "Null", "NULL", NULL };
    static const char *const trues[] = { "true", "True", "TRUE", NULL };
    static const char *const falses[] = { "false", "False", "FALSE", NULL };
    json_t *number;

    if (words_list_has(nulls, text))
        return json_null();
    if (words_list_has(trues, text) || words_list_has(falses, text))
        return json_boolean(words_list_has(trues, text));
    number = read_integer(text);
    return number ? number : read_real(text);
}

static const char *scalar_text(const struct reader *reader) {
    return (const char *)reader->event.data.scalar.value;
}

/* The value of the event; text if it is nothing else. */
static json_t *scalar_value(const struct reader *reader) {
    size_t length = reader->event.data.scalar.length;
    json_t *value = NULL;

    if (reader->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
        value = read_plain(scalar_text(reader));
    return value ? value : json_stringn(scalar_text(reader), length);
}

static int check_scalar(struct reader *reader) {
    if (reader->event.data.scalar.anchor || reader->event.data.scalar.tag)
        return yaml_refuse(reader, "anchors and tags are not understood");
    if (strlen(scalar_text(reader)) != reader->event.data.scalar.length)
        return yaml_refuse(reader, "a text has a NUL in it");
    return 0;
}

/* ---- nodes ---- */

static int read_node(struct reader *reader, json_t **ret);

/* A copy, to be freed; NULL: refused. */
static char *read_key(struct reader *reader, json_t *object) {
    if (reader->event.type != YAML_SCALAR_EVENT) {
        yaml_refuse(reader, "a key is no plain text");
        return NULL;
    }
    if (check_scalar(reader) < 0)
        return NULL;
    if (json_object_get(object, scalar_text(reader))) {
        yaml_refuse(reader, "a key stands twice");
        return NULL;
    }
    return heap_text(scalar_text(reader));
}

/* Called with its first event current; returns with its last one. */
static int read_mapping(struct reader *reader, json_t *object) {
    while (next_event(reader) == 0) {
        autofree char *key = NULL;
        json_t *value;

        if (reader->event.type == YAML_MAPPING_END_EVENT)
            return 0;
        key = read_key(reader, object);
        if (!key || next_event(reader) < 0 || read_node(reader, &value) < 0)
            return -1;
        json_object_set_new(object, key, value);
    }
    return -1;
}

static int read_sequence(struct reader *reader, json_t *array) {
    while (next_event(reader) == 0) {
        json_t *value;

        if (reader->event.type == YAML_SEQUENCE_END_EVENT)
            return 0;
        if (read_node(reader, &value) < 0)
            return -1;
        json_array_append_new(array, value);
    }
    return -1;
}

static int read_collection(struct reader *reader, json_t **ret) {
    bool maps = reader->event.type == YAML_MAPPING_START_EVENT;
    const yaml_char_t *anchor =
        maps ? reader->event.data.mapping_start.anchor : reader->event.data.sequence_start.anchor;
    const yaml_char_t *tag =
        maps ? reader->event.data.mapping_start.tag : reader->event.data.sequence_start.tag;
    int result;

    if (anchor || tag)
        return yaml_refuse(reader, "anchors and tags are not understood");
    if (++reader->depth > DEPTH_MOST)
        return yaml_refuse(reader, "it nests too deep");
    *ret = maps ? json_object() : json_array();
    result = maps ? read_mapping(reader, *ret) : read_sequence(reader, *ret);
    reader->depth--;
    if (result < 0)
        json_decref(*ret);
    return result;
}

/* Reads the node that starts with the current event; *ret belongs to the caller. */
static int read_node(struct reader *reader, json_t **ret) {
    switch (reader->event.type) {
    case YAML_SCALAR_EVENT:
        if (check_scalar(reader) < 0)
            return -1;
        *ret = scalar_value(reader);
        return *ret ? 0 : yaml_refuse(reader, "a text is no UTF-8");
    case YAML_MAPPING_START_EVENT:
    case YAML_SEQUENCE_START_EVENT:
        return read_collection(reader, ret);
    case YAML_ALIAS_EVENT:
        return yaml_refuse(reader, "aliases are not understood");
    default:
        return yaml_refuse(reader, "a value is wanted here");
    }
}

static int read_stream(struct reader *reader, json_t *documents) {
    while (next_event(reader) == 0) {
        json_t *document;

        switch (reader->event.type) {
        case YAML_STREAM_END_EVENT:
            return 0;
        case YAML_STREAM_START_EVENT:
        case YAML_DOCUMENT_START_EVENT:
        case YAML_DOCUMENT_END_EVENT:
            continue;
        default:
            if (read_node(reader, &document) < 0)
                return -1;
            if (!json_is_null(document))
                json_array_append(documents, document);
            json_decref(document);
        }
    }
    return -1;
}

json_t *yaml_read(struct arena *arena, const char *text, size_t size, struct error *err) {
    struct reader reader = { .err = err };
    json_t *documents = json_keep(arena, json_array());
    int result;

    if (size > SIZE_MOST) {
        error_set(err, ERROR_BAD_REQUEST, "The YAML text is longer than %zu bytes.", SIZE_MOST);
        return NULL;
    }
    if (!yaml_parser_initialize(&reader.parser)) {
        error_set(err, ERROR_UNAVAILABLE, "There is no memory to read YAML.");
        return NULL;
    }
    yaml_parser_set_input_string(&reader.parser, (const unsigned char *)text, size);
    result = read_stream(&reader, documents);
    if (reader.has_event)
        yaml_event_delete(&reader.event);
    yaml_parser_delete(&reader.parser);
    return result < 0 ? NULL : documents;
}
