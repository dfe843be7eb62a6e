/*
 * Sets of keys and values, and the rows behind them: metadata of a volume, its image metadata,
 * extra specs of a type.  The cost of a change depends on the changed keys and not on the size of
 * the set; the size of a set is bounded (quota_metadata_items), because every answer that shows it
 * costs.
 */
#pragma once

#include "operation/work.h"

struct pair {
    const char *key;
    const char *value;
};

struct pairs {
    const struct pair *items;
    unsigned count;
};

const char *pairs_get(const struct pairs *pairs, const char *key); /* NULL when absent */

/* The owner of a set; for tables without a search index, the id is enough. */
struct pair_owner {
    const char *id, *project_id;
    int64_t created_at;
};

#define PAIR_OWNER(row) (&(struct pair_owner){ (row)->id, (row)->project_id, (row)->created_at })

/* A table of sets, as its owner declares it. */
struct pair_rows {
    const char *what;          /* "Metadata of volume": in an error */
    const char *table, *owner; /* the table, and its column of the owner's id */
    const char *insert, *clear, *count, *characters, *select, *find,
        *remove;             /* SQL; $1: the owner */
    const char *sought;      /* SQL: has an owner in project $1 the pair $2, $3?  NULL: no search */
    int64_t characters_most; /* of one set; 0: not bounded */
};

/* `owner` is the column of the owner's id; owner and key are the key of the table.  Of a set that
 * exceeds its limit (an option was lowered) no more is counted than needed.  PAIR_ROWS_SOUGHT: each
 * row has the project and the creation time of its owner, which never change, for an index with the
 * owners of one pair in the order of a page. */
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

/* Do these exceed the limit of one set?  ERROR_TOO_LARGE (413).  A check before other work is
 * done. */
int pair_rows_check(const struct work *work, const struct pair_rows *rows, const char *owner_id,
                    const struct pairs *pairs, struct error *err);
/* Adds or overwrites; `merge` false: the set becomes exactly `pairs`. ERROR_TOO_LARGE (413). */
int pair_rows_put(struct work *work, const struct pair_rows *rows, const struct pair_owner *owner,
                  const struct pairs *pairs, bool merge, struct error *err);
/* The set becomes exactly `pairs`, which pair_rows_check() took when the request was accepted: a
 * limit that was lowered meanwhile does not fail the operation. */
int pair_rows_put_accepted(struct work *work, const struct pair_rows *rows,
                           const struct pair_owner *owner, const struct pairs *pairs,
                           struct error *err);
/* The value of one key: 1, or 0 when there is none. */
int pair_rows_find(struct work *work, const struct pair_rows *rows, const char *owner_id,
                   const char *key, const char **ret, struct error *err);
/* Removes one key: 1, or 0 when there was none. */
int pair_rows_remove(struct work *work, const struct pair_rows *rows, const char *owner_id,
                     const char *key, struct error *err);
/* The whole set, by key. */
int pair_rows_get(struct work *work, const struct pair_rows *rows, const char *owner_id,
                  struct pairs *ret, struct error *err);
