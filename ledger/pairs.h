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

/* A table of sets: whoever owns it says so once. */
struct pair_rows {
    const char *what; /* "Metadata of volume": in a refusal */
    const char *insert, *clear, *count, *characters, *select, *find,
        *remove;             /* SQL; $1: the owner */
    int64_t characters_most; /* of one set; 0: not bounded */
};

/* `owner` is the column of the owner's id; owner and key are the key of the table.  Of a set
 * that is larger than it may be (an option was lowered) no more is counted than needed. */
/* clang-format off */
#define PAIR_ROWS(table, owner) \
    .insert = "INSERT INTO " table " (" owner ", key, value) VALUES ($1, $2, $3) " \
              "ON CONFLICT (" owner ", key) DO UPDATE SET value = excluded.value", \
    .clear = "DELETE FROM " table " WHERE " owner " = $1", \
    .count = "SELECT COUNT(*) FROM (SELECT 1 FROM " table " WHERE " owner " = $1 LIMIT $2) " \
             "AS present", \
    .characters = "SELECT CAST(COALESCE(SUM(LENGTH(key) + LENGTH(value)), 0) AS BIGINT) " \
                  "FROM " table " WHERE " owner " = $1", \
    .select = "SELECT key, value FROM " table " WHERE " owner " = $1 ORDER BY key", \
    .find = "SELECT value FROM " table " WHERE " owner " = $1 AND key = $2", \
    .remove = "DELETE FROM " table " WHERE " owner " = $1 AND key = $2"
/* clang-format on */

/* Reads and ends rows of key and value; `rows` may be NULL when the query failed. */
int pairs_read(struct work *work, struct db_rows *rows, struct pairs *ret, struct error *err);

/* Are these too many for one set? ERROR_TOO_LARGE (413). For a look before other work is done. */
int pair_rows_check(const struct work *work, const struct pair_rows *rows, const char *owner_id,
                    const struct pairs *pairs, struct error *err);
/* Adds or overwrites; `merge` false: the set becomes exactly `pairs`. ERROR_TOO_LARGE (413). */
int pair_rows_put(struct work *work, const struct pair_rows *rows, const char *owner_id,
                  const struct pairs *pairs, bool merge, struct error *err);
/* The value of one key: 1, or 0 when there is none. */
int pair_rows_find(struct work *work, const struct pair_rows *rows, const char *owner_id,
                   const char *key, const char **ret, struct error *err);
/* Takes one key away: 1, or 0 when there was none. */
int pair_rows_remove(struct work *work, const struct pair_rows *rows, const char *owner_id,
                     const char *key, struct error *err);
/* The set as it is, by key. */
int pair_rows_get(struct work *work, const struct pair_rows *rows, const char *owner_id,
                  struct pairs *ret, struct error *err);
