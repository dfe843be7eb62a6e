/*
 * Sets of keys and values, and the rows behind them: metadata of a volume, its image metadata,
 * extra specs of a type.  A change costs what it names and not what is there; how much one set may
 * hold is bounded (quota_metadata_items), because others pay for every answer that shows it.
 */
#pragma once

#include "ledger/work.h"

struct pair {
    const char *key;
    const char *value;
};

struct pairs {
    const struct pair *items;
    unsigned count;
};

const char *pairs_get(const struct pairs *pairs, const char *key); /* NULL when absent */

struct pair_rows {
    const char *what;                            /* in a refusal: "Metadata of volume" */
    const char *insert, *clear, *count, *select; /* SQL; $1 is the owner's id */
    const char *characters;                      /* SQL of how many there are; NULL: not bounded */
};

/* Reads and ends rows of key and value; `rows` may be NULL when the query failed. */
int pairs_read(struct work *work, struct db_rows *rows, struct pairs *ret, struct error *err);

extern const struct pair_rows metadata_rows, image_metadata_rows, extra_spec_rows;

#define IMAGE_METADATA_CHARACTERS (128 * 1024)

/* Are these too many for one set? ERROR_TOO_LARGE (413). For a look before other work is done. */
int pair_rows_check(const struct work *work, const struct pair_rows *rows, const char *owner_id,
                    const struct pairs *pairs, struct error *err);
/* Adds or overwrites; `merge` false: the set becomes exactly `pairs`. ERROR_TOO_LARGE (413). */
int pair_rows_put(struct work *work, const struct pair_rows *rows, const char *owner_id,
                  const struct pairs *pairs, bool merge, struct error *err);
/* The set as it is, by key. */
int pair_rows_get(struct work *work, const struct pair_rows *rows, const char *owner_id,
                  struct pairs *ret, struct error *err);
