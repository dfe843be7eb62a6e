#include "json/out.h"

#include "common/clock.h"
#include "common/utf8.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_ROOM       256
#define BODY_ROOM        512
#define LARGEST_IN_ARENA ((size_t)64 * 1024)
#define MOST_EXPECTED    ((size_t)1024 * 1024)

void json_out_init(struct json_out *out, struct arena *arena, size_t room) {
    size_t first = room > LEAST_ROOM ? room : LEAST_ROOM;

    *out = (struct json_out){ .arena = arena, .text = arena_reserve(arena, first), .room = first };
}

static void release_heap(void *heap) {
    free(*(char **)heap);
}

static void grow_on_heap(struct json_out *out, size_t room) {
    char *before = out->heap ? *out->heap : NULL, *text = realloc(before, room);

    if (!text) {
        fputs("out of memory\n", stderr);
        abort();
    }
    if (!before) {
        memcpy(text, out->text, out->size);
        out->heap = arena_alloc(out->arena, sizeof(*out->heap));
        arena_defer(out->arena, release_heap, out->heap);
    }
    *out->heap = out->text = text;
    out->room = room;
}

static void grow(struct json_out *out, size_t more) {
    size_t room = 2 * out->room > out->size + more ? 2 * out->room : out->size + more;
    char *text;

    if (room > LARGEST_IN_ARENA) {
        grow_on_heap(out, room);
        return;
    }
    text = arena_reserve(out->arena, room);
    memcpy(text, out->text, out->size);
    out->text = text;
    out->room = room;
}

/* The end of the text, with space for `more` bytes after it. */
static inline char *make_room(struct json_out *out, size_t more) {
    if (out->room - out->size < more)
        grow(out, more);
    return out->text + out->size;
}

void json_out_expect(struct json_out *out, size_t more) {
    make_room(out, more < MOST_EXPECTED ? more : MOST_EXPECTED);
}

static inline void put_char(struct json_out *out, char character) {
    *make_room(out, 1) = character;
    out->size++;
}

static inline void put_bytes(struct json_out *out, const char *bytes, size_t size) {
    memcpy(make_room(out, size), bytes, size);
    out->size += size;
}

static inline void begin_value(struct json_out *out) {
    if (out->comma)
        put_char(out, ',');
    out->comma = true;
}

const char *json_out_text(struct json_out *out) {
    *make_room(out, 1) = '\0';
    return out->text;
}

static void begin_level(struct json_out *out, char bracket) {
    begin_value(out);
    put_char(out, bracket);
    out->comma = false;
}

static void end_level(struct json_out *out, char bracket) {
    put_char(out, bracket);
    out->comma = true;
}

void out_begin_object(struct json_out *out) {
    begin_level(out, '{');
}

void out_end_object(struct json_out *out) {
    end_level(out, '}');
}

void out_begin_array(struct json_out *out) {
    begin_level(out, '[');
}

void out_end_array(struct json_out *out) {
    end_level(out, ']');
}

#define EACH_BYTE(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Are eight bytes ASCII without control characters, quotes and backslashes?  Each term sets the top
 * bit of a byte that is not.  A borrow may set it for a plain byte, but never clears it. */
static inline bool is_plain(uint64_t bytes) {
    uint64_t quotes = bytes ^ EACH_BYTE('"'), backslashes = bytes ^ EACH_BYTE('\\');

    return (((bytes - EACH_BYTE(' ')) | (quotes - EACH_BYTE(1)) | (backslashes - EACH_BYTE(1)) |
             bytes) &
            EACH_BYTE(0x80)) == 0;
}

/* Copies plain text, eight bytes at a time, the last eight together with some before them; returns
 * its length. */
static size_t put_plain(struct json_out *out, const char *text, size_t size) {
    char *to = make_room(out, size);
    size_t done = 0;
    uint64_t bytes;

    while (size >= sizeof(bytes) && done < size) {
        size_t at = size - done < sizeof(bytes) ? size - sizeof(bytes) : done;

        memcpy(&bytes, text + at, sizeof(bytes));
        if (!is_plain(bytes))
            break;
        memcpy(to + at, &bytes, sizeof(bytes));
        done = at + sizeof(bytes);
    }
    for (; done < size; done++) {
        unsigned char byte = (unsigned char)text[done];

        if (byte < ' ' || byte >= 0x80 || byte == '"' || byte == '\\')
            break;
        to[done] = text[done];
    }
    out->size += done;
    return done;
}

static void put_escaped(struct json_out *out, unsigned char byte) {
    static const char short_forms[] = { ['"'] = '"',  ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f',
                                        ['\n'] = 'n', ['\r'] = 'r',  ['\t'] = 't' };
    static const char digits[] = "0123456789abcdef";
    char *to = make_room(out, 6);

    if (short_forms[byte]) {
        to[0] = '\\';
        to[1] = short_forms[byte];
        out->size += 2;
        return;
    }
    memcpy(to, "\\u00", 4);
    to[4] = digits[byte >> 4];
    to[5] = digits[byte & 0x0f];
    out->size += 6;
}

/* Writes the character at which put_plain() stopped; returns its length in the input. */
static size_t put_special(struct json_out *out, const char *text, size_t size) {
    uint32_t character;
    size_t length = utf8_next(text, size, &character);

    if (length > 1)
        put_bytes(out, text, length);
    else if (length == 1)
        put_escaped(out, (unsigned char)*text);
    else
        put_bytes(out, "\xef\xbf\xbd", 3);
    return length > 0 ? length : 1;
}

static void put_characters(struct json_out *out, const char *text, size_t size) {
    size_t done = put_plain(out, text, size);

    while (done < size) {
        done += put_special(out, text + done, size - done);
        done += put_plain(out, text + done, size - done);
    }
}

static void put_text(struct json_out *out, const char *text, size_t size) {
    put_char(out, '"');
    put_characters(out, text, size);
    put_char(out, '"');
}

void out_key_n(struct json_out *out, const char *literal, size_t length) {
    char *to = make_room(out, length + 4);

    if (out->comma)
        *to++ = ',';
    *to++ = '"';
    memcpy(to, literal, length);
    to += length;
    *to++ = '"';
    *to++ = ':';
    out->size = (size_t)(to - out->text);
    out->comma = false;
}

/* A copy of constant size is a few moves; the excess is overwritten by the next value. */
void out_key_ready(struct json_out *out, const char text[OUT_KEY_ROOM], size_t length) {
    char *to = make_room(out, OUT_KEY_ROOM + 1);

    *to = ',';
    memcpy(to + out->comma, text, OUT_KEY_ROOM);
    out->size += out->comma + length;
    out->comma = false;
}

void out_key_text(struct json_out *out, const char *key) {
    begin_value(out);
    put_text(out, key, strlen(key));
    put_char(out, ':');
    out->comma = false;
}

static inline void put_value(struct json_out *out, const char *json, size_t length) {
    begin_value(out);
    put_bytes(out, json, length);
}

void out_raw(struct json_out *out, const char *json, size_t length) {
    put_value(out, json, length);
}

void out_null(struct json_out *out) {
    put_value(out, "null", 4);
}

void out_bool(struct json_out *out, bool value) {
    if (value)
        put_value(out, "true", 4);
    else
        put_value(out, "false", 5);
}

void out_text(struct json_out *out, const char *value) {
    if (!value) {
        out_null(out);
        return;
    }
    begin_value(out);
    put_text(out, value, strlen(value));
}

void out_between(struct json_out *out, const struct json_part *parts, size_t count,
                 const char *text) {
    size_t length = strlen(text);

    begin_value(out);
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            put_characters(out, text, length);
        put_bytes(out, parts[i].json, parts[i].length);
    }
}

void out_int(struct json_out *out, int64_t value) {
    char digits[20];
    char *start = digits + sizeof(digits);
    uint64_t left = value < 0 ? -(uint64_t)value : (uint64_t)value;

    do
        *--start = (char)('0' + left % 10);
    while ((left /= 10) > 0);
    if (value < 0)
        *--start = '-';
    out_raw(out, start, (size_t)(digits + sizeof(digits) - start));
}

/* The shorter of two forms that reads back as the same number, always recognizable as a real. */
void out_double(struct json_out *out, double value) {
    char text[40];

    if (!isfinite(value)) {
        out_null(out);
        return;
    }
    snprintf(text, sizeof(text), "%.15g", value);
    if (strtod(text, NULL) != value)
        snprintf(text, sizeof(text), "%.17g", value);
    if (!strpbrk(text, ".e"))
        memcpy(text + strlen(text), ".0", sizeof(".0"));
    out_raw(out, text, strlen(text));
}

void out_time(struct json_out *out, int64_t instant_us) {
    char text[CLOCK_TEXT_SIZE];

    if (instant_us == 0) {
        out_null(out);
        return;
    }
    begin_value(out);
    put_char(out, '"');
    put_bytes(out, clock_text(instant_us, text), CLOCK_TEXT_SIZE - 1);
    put_char(out, '"');
}

/* The recursion is bounded: json_parse() limits the depth of clients' trees, the others are built
 * by the service. */
void out_value(struct json_out *out, const json_t *value) {
    if (json_is_object(value)) {
        json_t *object = (json_t *)value;

        out_begin_object(out);
        for (void *i = json_object_iter(object); i; i = json_object_iter_next(object, i)) {
            out_key_text(out, json_object_iter_key(i));
            out_value(out, json_object_iter_value(i));
        }
        out_end_object(out);
    } else if (json_is_array(value)) {
        out_begin_array(out);
        for (size_t i = 0; i < json_array_size(value); i++)
            out_value(out, json_array_get(value, i));
        out_end_array(out);
    } else if (json_is_string(value)) {
        begin_value(out);
        put_text(out, json_string_value(value), json_string_length(value));
    } else if (json_is_integer(value))
        out_int(out, json_integer_value(value));
    else if (json_is_real(value))
        out_double(out, json_real_value(value));
    else if (json_is_boolean(value))
        out_bool(out, json_is_true(value));
    else
        out_null(out);
}

void json_out_begin(struct json_out *out, struct arena *arena, const char *key) {
    json_out_init(out, arena, BODY_ROOM);
    out_begin_object(out);
    out->wrapped = key != NULL;
    if (!key)
        return;
    out_key_text(out, key);
    out_begin_object(out);
}

const char *json_out_end(struct json_out *out) {
    if (out->wrapped)
        out_end_object(out);
    out_end_object(out);
    return json_out_text(out);
}
