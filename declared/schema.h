/*
 * The schema of a document: a tree of fields. An accepted document is in normal form: known fields
 * under their own names, with the defaults of omitted ones; this form is stored, shown and
 * compared. Null is an omitted value, also in free-form objects.
 *
 * A refusal (ERROR_BAD_REQUEST) names the field by its whole path ("spec.capacity.storage") and
 * the reason; for an unknown field it suggests the nearest name.
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
    SCHEMA_FIXED = 1 << 1,     /* cannot change after creation (P50, P51) */
    SCHEMA_GROWS = 1 << 2,     /* a quantity that cannot decrease (P52) */
    SCHEMA_READ_ONLY = 1 << 3, /* written by the service; a client's value is ignored */
    SCHEMA_KEPT = 1 << 4,      /* omitted in an edit it stays as it is; fixed fields do so, too */
    SCHEMA_POWER_OF_2 = 1 << 5,
    SCHEMA_ADMIN_ONLY = 1 << 6, /* describes hosts: shown to administrators alone */
};

#define SCHEMA_TEXT_MOST 255
/* Half of the limit of json_parse(): others read it within lists and events. */
#define SCHEMA_DEPTH_MOST 32

struct schema_field {
    const char *name;
    enum schema_type type;
    unsigned flags;
    const struct schema_field *of;
    int64_t min, max;
    const char *const *words;         /* ended with NULL */
    bool (*allows)(const char *text); /* of a text, or of the names of a map; NULL: any */
    const char *initial;              /* JSON of the default; or NULL */
    /* of SCHEMA_ADMIN_ONLY: the value shown to all others; or NULL */
    const char *instead;
    const char *also;  /* another accepted spelling; or NULL */
    const char *about; /* a sentence */
};

#define SCHEMA_FIELDS_END \
    { .type = SCHEMA_END }

/* The path of the field of this name of the object at `path`. */
const char *schema_path(struct arena *arena, const char *path, const char *name);

/* Converts `object` (the caller's own) to its normal form. `path` is its name in refusals, "" at
 * the top. */
int schema_accept(struct arena *arena, const struct schema_field *fields, const char *path,
                  json_t *object, struct error *err);

/* Completes an edit: before it is accepted, with fields that stay when omitted; and then with
 * fields written by the service. */
void schema_keep(const struct schema_field *fields, const json_t *before, json_t *given);
void schema_keep_read_only(const struct schema_field *fields, const json_t *before, json_t *after);

/* A copy of `object` as shown to others than administrators; in the arena. */
json_t *schema_shown(struct arena *arena, const struct schema_field *fields, const json_t *object);

/* May `before` become `after`? Both are in normal form. */
int schema_compare(struct arena *arena, const struct schema_field *fields, const char *path,
                   const json_t *before, const json_t *after, struct error *err);
