/*
 * What a document may say: a tree of fields.  A document that is accepted is in its normal form
 * from then on: known fields under their own names, with the defaults of those that were not given;
 * what is stored, shown and compared is that.  Null is what is not given, in objects of any names,
 * too.
 *
 * A refusal (ERROR_BAD_REQUEST) names the field by its whole path ("spec.capacity.storage") and
 * says why; what is not known is answered with the nearest name.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"

#include <jansson.h>
#include <stdint.h>

enum schema_type {
    SCHEMA_END,
    SCHEMA_TEXT,   /* min…max bytes; max 0: SCHEMA_TEXT_MOST */
    SCHEMA_DIGITS, /* a text of digits, min…max in value; an integer is taken as its text */
    SCHEMA_INT,    /* min…max */
    SCHEMA_BOOL,
    SCHEMA_WORD,       /* one of `words` */
    SCHEMA_QUANTITY,   /* common/quantity.h, min…max in value; an integer is taken as its text */
    SCHEMA_QUANTITIES, /* an object of quantities with any names */
    SCHEMA_MAP,        /* an object of texts with any names */
    SCHEMA_OBJECT,     /* of the fields `of`; without: of anything, SCHEMA_DEPTH_MOST levels deep */
    SCHEMA_LIST,       /* of objects of the fields `of`, at most max; without: as an object */
};

enum schema_flags {
    SCHEMA_REQUIRED = 1 << 0,
    SCHEMA_FIXED = 1 << 1,     /* stays what it was when the document was made (P50, P51) */
    SCHEMA_GROWS = 1 << 2,     /* a quantity that never becomes less (P52) */
    SCHEMA_READ_ONLY = 1 << 3, /* the service writes it: what clients send there is not looked at */
    SCHEMA_KEPT =
        1 << 4, /* an edit that does not say it leaves it as it is; what is fixed is kept */
    SCHEMA_POWER_OF_2 = 1 << 5,
    SCHEMA_ADMIN_ONLY = 1 << 6, /* tells of our hosts: shown to administrators alone */
};

#define SCHEMA_TEXT_MOST 255
/* Half of what json_parse() reads: others have to read it within lists and events. */
#define SCHEMA_DEPTH_MOST 32

struct schema_field {
    const char *name;
    enum schema_type type;
    unsigned flags;
    const struct schema_field *of;
    int64_t min, max;
    const char *const *words;         /* ended with NULL */
    bool (*allows)(const char *text); /* of a text, or the names of a map; NULL: any */
    const char *initial;              /* JSON of what counts when it is not given; or NULL */
    const char *instead;              /* of SCHEMA_ADMIN_ONLY: what all others are told; or NULL */
    const char *also;                 /* another spelling that is taken for this one; or NULL */
    const char *about;                /* one sentence */
};

#define SCHEMA_FIELDS_END \
    { .type = SCHEMA_END }

/* Where the field of this name of the object at `path` stands. */
const char *schema_path(struct arena *arena, const char *path, const char *name);

/* Brings `object` (the caller's own) into its normal form.  `path` is what it is called in
 * refusals, "" at the top. */
int schema_accept(struct arena *arena, const struct schema_field *fields, const char *path,
                  json_t *object, struct error *err);

/* Gives an edit, before it is accepted, what it leaves as it is; and then what the service has
 * written. */
void schema_keep(const struct schema_field *fields, const json_t *before, json_t *given);
void schema_keep_read_only(const struct schema_field *fields, const json_t *before, json_t *after);

/* What is shown of `object` to who is no administrator: a copy, in the arena. */
json_t *schema_shown(struct arena *arena, const struct schema_field *fields, const json_t *object);

/* May `before` become `after`?  Both are in normal form. */
int schema_compare(struct arena *arena, const struct schema_field *fields, const char *path,
                   const json_t *before, const json_t *after, struct error *err);
