#include "identity/token_cache.private.h"

#include "common/assert.h"
#include "common/heap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#define BUCKETS 4096 /* a power of two */

struct entry {
    LIST_ENTRY(entry) bucket;
    TAILQ_ENTRY(entry) age;
    struct token_digest digest;
    const struct token *token; /* NULL: an invalid one */
    bool allow_expired;        /* of an invalid one: validated with allow_expired */
    int64_t until_us;
};

LIST_HEAD(bucket, entry);
TAILQ_HEAD(ages, entry);

/* Entries by time of last use, oldest first. */
struct shelf {
    struct ages ages;
    unsigned count, most;
};

struct token_cache {
    struct shelf good, bad;
    struct bucket buckets[BUCKETS];
};

struct token_cache *token_cache_new(unsigned good_most, unsigned bad_most) {
    struct token_cache *cache = heap_new(sizeof(*cache));

    assert(good_most > 0 && bad_most > 0);
    cache->good.most = good_most;
    cache->bad.most = bad_most;
    TAILQ_INIT(&cache->good.ages);
    TAILQ_INIT(&cache->bad.ages);
    return cache;
}

static struct shelf *shelf_of(struct token_cache *cache, const struct entry *entry) {
    return entry->token ? &cache->good : &cache->bad;
}

static void entry_drop(struct token_cache *cache, struct entry *entry) {
    struct shelf *shelf = shelf_of(cache, entry);

    TAILQ_REMOVE(&shelf->ages, entry, age);
    shelf->count--;
    LIST_REMOVE(entry, bucket);
    token_release(entry->token);
    free(entry);
}

void token_cache_free(struct token_cache *cache) {
    struct entry *entry;

    if (!cache)
        return;
    while ((entry = TAILQ_FIRST(&cache->good.ages)) || (entry = TAILQ_FIRST(&cache->bad.ages)))
        entry_drop(cache, entry);
    free(cache);
}

/* A digest is uniformly distributed. */
static struct bucket *bucket_of(struct token_cache *cache, const struct token_digest *digest) {
    unsigned index;

    memcpy(&index, digest->bytes, sizeof(index));
    return &cache->buckets[index & (BUCKETS - 1)];
}

static struct entry *find_entry(struct token_cache *cache, const struct token_digest *digest) {
    struct entry *entry = LIST_FIRST(bucket_of(cache, digest));

    while (entry && memcmp(&entry->digest, digest, sizeof(*digest)) != 0)
        entry = LIST_NEXT(entry, bucket);
    return entry;
}

const struct token *token_cache_find(struct token_cache *cache, const struct token_digest *digest,
                                     bool allow_expired, int64_t now_us, bool *ret_bad) {
    struct entry *entry = find_entry(cache, digest);
    struct shelf *shelf;

    *ret_bad = false;
    if (!entry)
        return NULL;
    if (now_us >= entry->until_us) {
        entry_drop(cache, entry);
        return NULL;
    }
    shelf = shelf_of(cache, entry);
    TAILQ_REMOVE(&shelf->ages, entry, age);
    TAILQ_INSERT_TAIL(&shelf->ages, entry, age);
    /* Validated without allow_expired, it may still be valid with it. */
    *ret_bad = !entry->token && (entry->allow_expired || !allow_expired);
    return entry->token ? token_hold(entry->token) : NULL;
}

static void put(struct token_cache *cache, const struct entry *values) {
    struct entry *entry = find_entry(cache, &values->digest);
    struct shelf *shelf = shelf_of(cache, values);

    if (entry)
        entry_drop(cache, entry);
    if (shelf->count >= shelf->most)
        entry_drop(cache, TAILQ_FIRST(&shelf->ages));
    entry = heap_new(sizeof(*entry));
    *entry = *values;
    LIST_INSERT_HEAD(bucket_of(cache, &entry->digest), entry, bucket);
    TAILQ_INSERT_TAIL(&shelf->ages, entry, age);
    shelf->count++;
}

void token_cache_put(struct token_cache *cache, const struct token_digest *digest,
                     const struct token *token, int64_t until_us) {
    const struct entry values = { .digest = *digest,
                                  .token = token_hold(token),
                                  .until_us = until_us };

    put(cache, &values);
}

void token_cache_put_bad(struct token_cache *cache, const struct token_digest *digest,
                         bool allow_expired, int64_t until_us) {
    const struct entry values = { .digest = *digest,
                                  .allow_expired = allow_expired,
                                  .until_us = until_us };

    put(cache, &values);
}

unsigned token_cache_count(const struct token_cache *cache) {
    return cache->good.count + cache->bad.count;
}
