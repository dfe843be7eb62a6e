#include "ledger/pairs.h"

#include "ledger/query.h"

#include <string.h>

const char *pairs_get(const struct pairs *pairs, const char *key) {
    for (unsigned i = 0; i < pairs->count; i++)
        if (strcmp(pairs->items[i].key, key) == 0)
            return pairs->items[i].value;
    return NULL;
}

/* Of a set that is larger than it may be (an option was lowered) no more is counted than needed. */
#define ROWS_OF(table, owner)                                                                \
    .insert = "INSERT INTO " table " (" owner ", key, value) VALUES ($1, $2, $3) "           \
              "ON CONFLICT (" owner ", key) DO UPDATE SET value = excluded.value",           \
    .clear = "DELETE FROM " table " WHERE " owner " = $1",                                   \
    .count = "SELECT COUNT(*) FROM (SELECT 1 FROM " table " WHERE " owner " = $1 LIMIT $2) " \
             "AS present",                                                                   \
    .select = "SELECT key, value FROM " table " WHERE " owner " = $1 ORDER BY key"

const struct pair_rows metadata_rows = {
    .what = "Metadata of volume",
    ROWS_OF("volume_metadata", "volume_id"),
};

const struct pair_rows image_metadata_rows = {
    .what = "Image metadata of volume",
    ROWS_OF("volume_glance_metadata", "volume_id"),
    .characters = "SELECT CAST(COALESCE(SUM(LENGTH(key) + LENGTH(value)), 0) AS BIGINT) "
                  "FROM volume_glance_metadata WHERE volume_id = $1",
};

const struct pair_rows extra_spec_rows = {
    .what = "Extra specs of volume type",
    ROWS_OF("volume_type_extra_specs", "volume_type_id"),
};

static int refuse_items(const struct work *work, const struct pair_rows *rows, const char *owner_id,
                        struct error *err) {
    return error_set(err, ERROR_TOO_LARGE,
                     "MetadataLimitExceeded: %s %s: at most %jd items are allowed.", rows->what,
                     owner_id, (intmax_t)work->settings->metadata_items);
}

int pair_rows_check(const struct work *work, const struct pair_rows *rows, const char *owner_id,
                    const struct pairs *pairs, struct error *err) {
    return pairs->count > work->settings->metadata_items ? refuse_items(work, rows, owner_id, err)
                                                         : 0;
}

static int check_what_is_there(struct work *work, const struct pair_rows *rows,
                               const char *owner_id, struct error *err) {
    int64_t most = work->settings->metadata_items, there = 0;

    if (db_query_int(work->tx, &there, err, rows->count, DB_TEXT(owner_id), DB_INT(most + 1)) < 0)
        return -1;
    if (there > most)
        return refuse_items(work, rows, owner_id, err);
    if (!rows->characters)
        return 0;
    if (db_query_int(work->tx, &there, err, rows->characters, DB_TEXT(owner_id)) < 0)
        return -1;
    if (there > IMAGE_METADATA_CHARACTERS)
        return error_set(err, ERROR_TOO_LARGE,
                         "MetadataLimitExceeded: %s %s: at most %d characters are allowed.",
                         rows->what, owner_id, IMAGE_METADATA_CHARACTERS);
    return 0;
}

int pair_rows_put(struct work *work, const struct pair_rows *rows, const char *owner_id,
                  const struct pairs *pairs, bool merge, struct error *err) {
    if (pair_rows_check(work, rows, owner_id, pairs, err) < 0 ||
        (!merge && db_run(work->tx, err, rows->clear, DB_TEXT(owner_id)) < 0))
        return -1;
    for (unsigned i = 0; i < pairs->count; i++)
        if (db_run(work->tx, err, rows->insert, DB_TEXT(owner_id), DB_TEXT(pairs->items[i].key),
                   DB_TEXT(pairs->items[i].value)) < 0)
            return -1;
    return pairs->count > 0 ? check_what_is_there(work, rows, owner_id, err) : 0;
}

static int read_pair(struct work *work, const struct db_rows *rows, void *item, struct error *err) {
    (void)err;
    *(struct pair *)item =
        (struct pair){ db_copy(rows, 0, work->arena), db_copy(rows, 1, work->arena) };
    return 0;
}

int pairs_read(struct work *work, struct db_rows *rows, struct pairs *ret, struct error *err) {
    int count = query_all(work, rows, read_pair, &ret->items, err);

    if (count < 0)
        return -1;
    ret->count = (unsigned)count;
    return 0;
}

int pair_rows_get(struct work *work, const struct pair_rows *rows, const char *owner_id,
                  struct pairs *ret, struct error *err) {
    return pairs_read(work, db_query(work->tx, err, rows->select, DB_TEXT(owner_id)), ret, err);
}
