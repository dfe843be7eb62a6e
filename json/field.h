/*
 * The tables of json_decode(), and one field of it: checks a JSON value by its row of the table and
 * stores it.
 *
 * The message of a refusal names the field, the value (shortened) and what it must be.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum field_type {
    FIELD_TYPE_END,
    FIELD_TYPE_TEXT,   /* const char *: a string of min…max characters */
    FIELD_TYPE_BOOL,   /* bool: true/false or one of the API's boolean words */
    FIELD_TYPE_UUID,   /* const char *: canonical lower-case form */
    FIELD_TYPE_SIZE,   /* int64_t: an integer or its digits, min…max; no fraction */
    FIELD_TYPE_INT,    /* int64_t: an integer only, min…max */
    FIELD_TYPE_META,   /* const json_t *: object of min…max strings (see FIELD_META…) */
    FIELD_TYPE_WORD,   /* const char *: one of `words` */
    FIELD_TYPE_OBJECT, /* const json_t *: any object */
    FIELD_TYPE_LIST,   /* const json_t *: any array of min…max elements */
    FIELD_TYPE_ANY,    /* const json_t *: anything */
};

enum field_flags {
    FIELD_REQUIRED = 1 << 0,
    FIELD_NULLABLE = 1 << 1,    /* null counts as absent */
    FIELD_TRIM = 1 << 2,        /* blanks at both ends are removed before the length is checked */
    FIELD_NOT_BLANK = 1 << 3,   /* not only blanks */
    FIELD_PRINTABLE = 1 << 4,   /* no control characters, no line breaks */
    FIELD_HOST_CHARS = 1 << 5,  /* a-zA-Z0-9-._#@:/+[] */
    FIELD_NULL_VALUES = 1 << 6, /* META: values may be null */
    FIELD_SPEC_KEYS = 1 << 7,   /* META: keys without blank and slash */
    FIELD_LONG_VALUES = 1 << 8, /* META: values up to 65535 bytes instead of 255 characters */
    FIELD_OR_TEXT = 1 << 9,     /* OBJECT: a string is accepted too */
    FIELD_OTHERS = 1 << 10,     /* matches all keys without a row of their own; one of them is
                                 * stored */
};

struct field {
    const char *name;
    enum field_type type;
    unsigned flags;
    size_t offset;            /* of the member in the target struct */
    int64_t min, max;         /* TEXT, LIST and META: a max of 0 is no bound */
    const char *const *words; /* FIELD_TYPE_WORD: ended with NULL */
    unsigned since;           /* first minor microversion with the field; unknown before */
};

#define FIELD_MAX_SIZE_GB 2147483647

/* The API's type words.  `record` is the struct, `member` its member, `key` the JSON name. */
/* clang-format off */
#define FIELD(record, member, key, kind, flags_, ...) \
    { .name = key, .type = FIELD_TYPE_##kind, .flags = (flags_), \
      .offset = offsetof(record, member), __VA_ARGS__ }

#define FIELD_NAME1(record, member, key, flags_) \
    FIELD(record, member, key, TEXT, (flags_) | FIELD_NOT_BLANK, .min = 1, .max = 255)
#define FIELD_NAME0(record, member, key, flags_) \
    FIELD(record, member, key, TEXT, (flags_) | FIELD_NULLABLE, .min = 0, .max = 255)
#define FIELD_DESC(record, member, key, flags_) \
    FIELD(record, member, key, TEXT, (flags_) | FIELD_NULLABLE | FIELD_PRINTABLE, .max = 255)
#define FIELD_NAMET(record, member, key, flags_) /* trimmed */ \
    FIELD(record, member, key, TEXT, (flags_) | FIELD_NULLABLE | FIELD_TRIM, .max = 255)
#define FIELD_TEXT(record, member, key, flags_, min_, max_) \
    FIELD(record, member, key, TEXT, flags_, .min = (min_), .max = (max_))
#define FIELD_HOST(record, member, key, flags_) \
    FIELD(record, member, key, TEXT, (flags_) | FIELD_NULLABLE | FIELD_HOST_CHARS, \
          .min = 1, .max = 255)
#define FIELD_BOOL(record, member, key, flags_) FIELD(record, member, key, BOOL, flags_, )
#define FIELD_UUID(record, member, key, flags_) FIELD(record, member, key, UUID, flags_, )
#define FIELD_SIZE(record, member, key, flags_) \
    FIELD(record, member, key, SIZE, flags_, .min = 1, .max = FIELD_MAX_SIZE_GB)
#define FIELD_INT(record, member, key, flags_, min_, max_) \
    FIELD(record, member, key, INT, flags_, .min = (min_), .max = (max_))
#define FIELD_META(record, member, key, flags_) FIELD(record, member, key, META, flags_, )
#define FIELD_WORD(record, member, key, flags_, words_) \
    FIELD(record, member, key, WORD, flags_, .words = (words_))
#define FIELD_OBJECT(record, member, key, flags_) FIELD(record, member, key, OBJECT, flags_, )
#define FIELD_LIST(record, member, key, flags_, min_, max_) \
    FIELD(record, member, key, LIST, flags_, .min = (min_), .max = (max_))
#define FIELD_ANY(record, member, key, flags_) FIELD(record, member, key, ANY, flags_, )
#define FIELD_ELSE(record, member, kind, flags_, ...) \
    FIELD(record, member, "", kind, (flags_) | FIELD_OTHERS, __VA_ARGS__)
#define FIELDS_END { .type = FIELD_TYPE_END }
/* clang-format on */

/* Writes `member` only when the value is accepted. 0 or -1 (ERROR_BAD_REQUEST). */
int field_read(struct arena *arena, const struct field *field, const json_t *value, void *member,
               struct error *err);

#define FIELD_SHOWN_SIZE 272

/* Quotes a client's text for a message, truncated to 64 characters; returns `shown`. */
const char *field_show(char shown[FIELD_SHOWN_SIZE], const char *text);
