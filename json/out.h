/*
 * Writes JSON text into one growing buffer without building a tree, so that a page of a thousand
 * volumes costs only its bytes.  Keys are C literals written unchanged (out_key) or text that is
 * escaped (out_key_text). The writer inserts the commas.  Invalid UTF-8 in values is replaced by
 * U+FFFD, so the output is always valid JSON.
 *
 * Memory is of the arena.  A large text has memory of its own, which grows without leaving old
 * copies in the arena.  A writer belongs to one thread.
 */
#pragma once

#include "common/arena.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_out {
    struct arena *arena;
    char *text;  /* not ended with '\0' until json_out_text() */
    char **heap; /* memory of a large text, of malloc(), which grows in place and may be taken from
                  * here; NULL: the text is in the arena */
    size_t size, room;
    bool wrapped; /* by json_out_begin() */
    bool comma;   /* a comma is needed before the next value of this level */
};

struct json_part {
    const char *json;
    size_t length;
};

void json_out_init(struct json_out *out, struct arena *arena, size_t room);
/* About `more` bytes will be written: they get space at once, up to a limit. */
void json_out_expect(struct json_out *out, size_t more);
const char *json_out_text(struct json_out *out); /* ended with '\0'; owned by the arena */

/* Starts the text of one object, or of {"key": {…}} when there is a key: the following members
 * belong to the inner object until json_out_end(), which returns the text. */
void json_out_begin(struct json_out *out, struct arena *arena, const char *key);
const char *json_out_end(struct json_out *out);

void out_begin_object(struct json_out *out);
void out_end_object(struct json_out *out);
void out_begin_array(struct json_out *out);
void out_end_array(struct json_out *out);

/* The key of the next value. */
void out_key_n(struct json_out *out, const char *literal, size_t length);
#define out_key(out, literal) out_key_n(out, "" literal "", sizeof(literal) - 1)
void out_key_text(struct json_out *out, const char *key);
/* The same for tables: "\"name\":", of `length` characters, padded to OUT_KEY_ROOM. */
#define OUT_KEY_ROOM 48
void out_key_ready(struct json_out *out, const char text[OUT_KEY_ROOM], size_t length);

void out_text(struct json_out *out, const char *value); /* NULL writes null */
void out_int(struct json_out *out, int64_t value);
void out_double(struct json_out *out, double value);
void out_bool(struct json_out *out, bool value);
void out_null(struct json_out *out);
void out_time(struct json_out *out, int64_t instant_us);             /* 0 writes null */
void out_value(struct json_out *out, const json_t *value);           /* a whole tree */
void out_raw(struct json_out *out, const char *json, size_t length); /* text that is JSON already */
/* The same of parts, with `text`, escaped, between each two of them. */
void out_between(struct json_out *out, const struct json_part *parts, size_t count,
                 const char *text);

/* Shorthands: key and value. */
#define out_put_text(out, literal, value) (out_key(out, literal), out_text(out, value))
#define out_put_int(out, literal, value)  (out_key(out, literal), out_int(out, value))
#define out_put_bool(out, literal, value) (out_key(out, literal), out_bool(out, value))
#define out_put_time(out, literal, value) (out_key(out, literal), out_time(out, value))
#define out_put_null(out, literal)        (out_key(out, literal), out_null(out))
#define out_open_object(out, literal)     (out_key(out, literal), out_begin_object(out))
#define out_open_array(out, literal)      (out_key(out, literal), out_begin_array(out))
