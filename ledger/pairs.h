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

/* Whose set it is; of rows that cannot be sought, the id is enough. */
struct pair_owner {
    const char *id, *project_id;
    int64_t created_at;
};

#define PAIR_OWNER(row) (&(struct pair_owner){ (row)->id, (row)->project_id, (row)->created_at })

/* A table of sets: whoever owns it says so once. */
struct pair_rows {
    const char *what;          /* "Metadata of volume": in a refusal */
    const char *table, *owner; /* the table, and its column of the owner's id */
    const char *insert, *clear, *count, *characters, *select, *find,
        *remove;        /* SQL; $1: the owner */
    const char *sought; /* SQL: has any of project $1 the pair $2, $3?  NULL: not to be sought */
    int64_t characters_most; /* of one set; 0: not bounded */
};

/* `owner` is the column of the owner's id; owner and key are the key of the table.  Of a set
 * that is larger than it may be (an option was lowered) no more is counted than needed.
 * PAIR_ROWS_SOUGHT: each row has the project and the birth of its owner, which never change, for an
 * index in which the owners of one pair stand in the order of a page. */
/* clang-format off */
#define PAIR_ROWS(table, owner) \
    .insert = "INSERT INTO " table " (" owner ", key, value) VALUES ($1, $2, $3)" \
              PAIR_REPLACES(owner), \
    PAIR_ROWS_ALL(table, owner)
#define PAIR_ROWS_SOUGHT(table, owner) \
    .insert = "INSERT INTO " table " (" owner ", key, value, project_id, created_at) " \
              "VALUES ($1, $2, $3, $4, $5)" PAIR_REPLACES(owner), \
    .sought = "SELECT 1 FROM " table " WHERE project_id = $1 AND key = $2 AND value = $3 LIMIT 1", \
    PAIR_ROWS_ALL(table, owner)
#define PAIR_REPLACES(owner) " ON CONFLICT (" owner ", key) DO UPDATE SET value = excluded.value"
#define PAIR_ROWS_ALL(table_, owner_) \
    .table = table_, .owner = owner_, \
    .clear = "DELETE FROM " table_ " WHERE " owner_ " = $1", \
    .count = "SELECT COUNT(*) FROM (SELECT 1 FROM " table_ " WHERE " owner_ " = $1 LIMIT $2) " \
             "AS present", \
    .characters = "SELECT CAST(COALESCE(SUM(LENGTH(key) + LENGTH(value)), 0) AS BIGINT) " \
                  "FROM " table_ " WHERE " owner_ " = $1", \
    .select = "SELECT key, value FROM " table_ " WHERE " owner_ " = $1 ORDER BY key", \
    .find = "SELECT value FROM " table_ " WHERE " owner_ " = $1 AND key = $2", \
    .remove = "DELETE FROM " table_ " WHERE " owner_ " = $1 AND key = $2"
/* clang-format on */

/* Reads and ends rows of key and value; `rows` may be NULL when the query failed. */
int pairs_read(struct work *work, struct db_rows *rows, struct pairs *ret, struct error *err);

/* Are these too many for one set? ERROR_TOO_LARGE (413). For a look before other work is done. */
int pair_rows_check(const struct work *work, const struct pair_rows *rows, const char *owner_id,
                    const struct pairs *pairs, struct error *err);
/* Adds or overwrites; `merge` false: the set becomes exactly `pairs`. ERROR_TOO_LARGE (413). */
int pair_rows_put(struct work *work, const struct pair_rows *rows, const struct pair_owner *owner,
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
