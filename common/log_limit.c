#include "common/log_limit.h"

#include "common/thread.h"
#include "common/words.h"

#define PROBES 8 /* places that a key may have */

static bool is_over(const struct log_limit_key *key, int64_t now_us) {
    return key->logged_us == 0 || now_us - key->logged_us >= LOG_LIMIT_US;
}

/* The key's own place, or one that is free; else the first, which is another key's. */
static struct log_limit_key *place_of(struct log_limit *limit, uint32_t hash, int64_t now_us) {
    struct log_limit_key *found = NULL;

    for (unsigned i = 0; i < PROBES; i++) {
        struct log_limit_key *key = &limit->keys[(hash + i) % LOG_LIMIT_KEYS];

        if (key->hash == hash && key->logged_us)
            return key;
        if (!found && is_over(key, now_us))
            found = key;
    }
    return found ? found : &limit->keys[hash % LOG_LIMIT_KEYS];
}

bool log_limit_allows(struct log_limit *limit, const char *key, int64_t now_us,
                      unsigned *ret_others) {
    uint32_t hash = word_hash(key);
    struct log_limit_key *place;
    bool allows;

    scoped_lock(&limit->lock);
    place = place_of(limit, hash, now_us);
    allows = is_over(place, now_us);
    if (allows) {
        *ret_others = place->hash == hash ? place->others : 0;
        *place = (struct log_limit_key){ .hash = hash, .logged_us = now_us };
    } else {
        place->others++;
    }
    return allows;
}
