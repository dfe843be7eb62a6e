#include "operation/pairs.h"

#include "common/assert.h"
#include "operation/query.h"

#include <string.h>

const char *pairs_get(const struct pairs *pairs, const char *key) {
    for (unsigned i = 0; i < pairs->count; i++)
        if (strcmp(pairs->items[i].key, key) == 0)
            return pairs->items[i].value;
    return NULL;
}

static int refuse_items(const struct work *work, const struct pair_rows *rows, const char *owner_id,
                        struct error *err) {
    return error_set(err, ERROR_TOO_LARGE,
                     "MetadataLimitExceeded: %s %s: at most %jd items are allowed.", rows->what,
                     owner_id, (intmax_t)work->settings->metadata_items);
}

static int refuse_characters(const struct pair_rows *rows, const char *owner_id,
                             struct error *err) {
    return error_set(err, ERROR_TOO_LARGE,
                     "MetadataLimitExceeded: %s %s: at most %jd characters are allowed.",
                     rows->what, owner_id, (intmax_t)rows->characters_most);
}

/* As LENGTH() of SQL does: of UTF-8, all bytes but those that continue a character; NULL: 0. */
static int64_t characters_of(const char *text) {
    int64_t count = 0;

    for (; text && *text; text++)
        count += ((unsigned char)*text & 0xc0) != 0x80;
    return count;
}

int pair_rows_check(const struct work *work, const struct pair_rows *rows, const char *owner_id,
                    const struct pairs *pairs, struct error *err) {
    int64_t count = 0;

    if (pairs->count > work->settings->metadata_items)
        return refuse_items(work, rows, owner_id, err);
    if (rows->characters_most == 0)
        return 0;
    for (unsigned i = 0; i < pairs->count; i++)
        count += characters_of(pairs->items[i].key) + characters_of(pairs->items[i].value);
    return count > rows->characters_most ? refuse_characters(rows, owner_id, err) : 0;
}

static int check_what_is_there(struct work *work, const struct pair_rows *rows,
                               const char *owner_id, struct error *err) {
    int64_t most = work->settings->metadata_items, there = 0;

    if (db_query_int(work->tx, &there, err, rows->count, DB_TEXT(owner_id), DB_INT(most + 1)) < 0)
        return -1;
    if (there > most)
        return refuse_items(work, rows, owner_id, err);
    if (rows->characters_most == 0)
        return 0;
    if (db_query_int(work->tx, &there, err, rows->characters, DB_TEXT(owner_id)) < 0)
        return -1;
    return there > rows->characters_most ? refuse_characters(rows, owner_id, err) : 0;
}

static int insert_pairs(struct work *work, const struct pair_rows *rows,
                        const struct pair_owner *owner, const struct pairs *pairs,
                        struct error *err) {
    for (unsigned i = 0; i < pairs->count; i++) {
        const struct pair *pair = &pairs->items[i];
        const struct db_value values[] = { DB_TEXT(owner->id), DB_TEXT(pair->key),
                                           DB_TEXT(pair->value), DB_TEXT(owner->project_id),
                                           DB_INT(owner->created_at) };

        assert(!rows->sought || (owner->project_id && owner->created_at > 0));
        if (db_change_values(work->tx, err, rows->insert, values, rows->sought ? 5 : 3) < 0)
            return -1;
    }
    return 0;
}

int pair_rows_put(struct work *work, const struct pair_rows *rows, const struct pair_owner *owner,
                  const struct pairs *pairs, bool merge, struct error *err) {
    assert(owner->id);
    if (pair_rows_check(work, rows, owner->id, pairs, err) < 0 ||
        (!merge && db_run(work->tx, err, rows->clear, DB_TEXT(owner->id)) < 0) ||
        insert_pairs(work, rows, owner, pairs, err) < 0)
        return -1;
    return pairs->count > 0 ? check_what_is_there(work, rows, owner->id, err) : 0;
}

int pair_rows_put_accepted(struct work *work, const struct pair_rows *rows,
                           const struct pair_owner *owner, const struct pairs *pairs,
                           struct error *err) {
    assert(owner->id);
    return db_run(work->tx, err, rows->clear, DB_TEXT(owner->id)) < 0
               ? -1
               : insert_pairs(work, rows, owner, pairs, err);
}

int pair_rows_find(struct work *work, const struct pair_rows *rows, const char *owner_id,
                   const char *key, const char **ret, struct error *err) {
    return query_one(work, db_query(work->tx, err, rows->find, DB_TEXT(owner_id), DB_TEXT(key)),
                     query_text, ret, err);
}

int pair_rows_remove(struct work *work, const struct pair_rows *rows, const char *owner_id,
                     const char *key, struct error *err) {
    assert(owner_id && key);
    return db_run(work->tx, err, rows->remove, DB_TEXT(owner_id), DB_TEXT(key));
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
