/*
 * Cache of the statements that one PostgreSQL session has prepared, by their text and the types of
 * their values.  The least recently used one is evicted.
 *
 * A NULL has no type: alone it lets the server infer one, and it fits a statement prepared with
 * any.
 */
#pragma once

#include "db/db.h"

#include <stdint.h>

enum { PREPARED_MOST = 256, PREPARED_BUCKETS = 256 };

struct prepared {
    char *sql;
    unsigned char *types; /* enum db_value_type of each parameter */
    size_t count;
    uint32_t hash;
    uint32_t used;         /* the cache's tick at the last use */
    unsigned number;       /* its name at the server */
    struct prepared *next; /* in its bucket */
};

struct prepared_cache {
    struct prepared kept[PREPARED_MOST];
    struct prepared *buckets[PREPARED_BUCKETS];
    unsigned count, tick, numbers;
};

/* NULL: it must be prepared. */
struct prepared *prepared_find(struct prepared_cache *cache, const char *sql,
                               const struct db_value *values, size_t count);
/* A free entry; forgotten: the server still has a statement of its number. */
struct prepared *prepared_room(struct prepared_cache *cache, bool *ret_forgotten);
/* Fills the entry for a statement that the server has prepared. */
void prepared_keep(struct prepared_cache *cache, struct prepared *prepared, const char *sql,
                   const struct db_value *values, size_t count);
void prepared_forget_all(struct prepared_cache *cache);
