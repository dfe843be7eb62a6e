#include "db/postgresql/prepared.h"

#include "common/assert.h"
#include "common/heap.h"
#include "common/words.h"

#include <stdlib.h>
#include <string.h>

static bool prepared_fits(const struct prepared *prepared, const struct db_value *values,
                          size_t count) {
    if (prepared->count != count)
        return false;
    for (size_t i = 0; i < count; i++)
        if (values[i].type != DB_VALUE_NULL && prepared->types[i] != values[i].type)
            return false;
    return true;
}

struct prepared *prepared_find(struct prepared_cache *cache, const char *sql,
                               const struct db_value *values, size_t count) {
    uint32_t hash = word_hash(sql);
    struct prepared *prepared = cache->buckets[hash % PREPARED_BUCKETS];

    for (; prepared; prepared = prepared->next)
        if (prepared->hash == hash && strcmp(prepared->sql, sql) == 0 &&
            prepared_fits(prepared, values, count))
            return prepared;
    return NULL;
}

static void prepared_drop(struct prepared_cache *cache, struct prepared *prepared) {
    struct prepared **place = &cache->buckets[prepared->hash % PREPARED_BUCKETS];

    while (*place != prepared)
        place = &(*place)->next;
    *place = prepared->next;
    free(prepared->sql);
    free(prepared->types);
    prepared->sql = NULL;
}

void prepared_forget_all(struct prepared_cache *cache) {
    for (unsigned i = 0; i < cache->count; i++)
        if (cache->kept[i].sql)
            prepared_drop(cache, &cache->kept[i]);
    cache->count = 0;
}

struct prepared *prepared_room(struct prepared_cache *cache, bool *ret_forgotten) {
    struct prepared *oldest = &cache->kept[0];

    assert(cache->count <= PREPARED_MOST);
    *ret_forgotten = false;
    if (cache->count < PREPARED_MOST)
        return &cache->kept[cache->count++];
    for (struct prepared *other = cache->kept; other < cache->kept + PREPARED_MOST; other++)
        if (!other->sql || (oldest->sql && cache->tick - other->used > cache->tick - oldest->used))
            oldest = other;
    *ret_forgotten = oldest->sql != NULL;
    if (oldest->sql)
        prepared_drop(cache, oldest);
    return oldest;
}

void prepared_keep(struct prepared_cache *cache, struct prepared *prepared, const char *sql,
                   const struct db_value *values, size_t count) {
    struct prepared **bucket;

    assert(!prepared->sql);
    prepared->sql = heap_text(sql);
    prepared->types = heap_new(count + 1);
    for (size_t i = 0; i < count; i++)
        prepared->types[i] = (unsigned char)values[i].type;
    prepared->count = count;
    prepared->hash = word_hash(sql);
    bucket = &cache->buckets[prepared->hash % PREPARED_BUCKETS];
    prepared->next = *bucket;
    *bucket = prepared;
}
