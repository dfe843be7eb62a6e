/*
 * Verdicts about tokens, found by a digest of the token, for a bounded time and in a bounded
 * number: a new one pushes out the one that was asked for longest ago.  Good and bad tokens have
 * room of their own, so that nobody pushes out good ones by guessing.
 *
 * Not thread-safe: its owner has a lock.
 */
#pragma once

#include "identity/token.h"

#include <stdbool.h>
#include <stdint.h>

#define TOKEN_DIGEST_SIZE 32

struct token_digest {
    unsigned char bytes[TOKEN_DIGEST_SIZE];
};

struct token_cache;

struct token_cache *token_cache_new(unsigned good_most, unsigned bad_most);
void token_cache_free(struct token_cache *cache);

/* NULL: nothing is known.  *ret_bad: it is no good; `allow_expired`: not even when it may have
 * expired. The token is held for the caller. */
const struct token *token_cache_find(struct token_cache *cache, const struct token_digest *digest,
                                     bool allow_expired, int64_t now_us, bool *ret_bad);
/* `now_us` and `until_us` are of CLOCK_BOOTTIME: what is known grows old while a machine sleeps. */
void token_cache_put(struct token_cache *cache, const struct token_digest *digest,
                     const struct token *token, int64_t until_us);
void token_cache_put_bad(struct token_cache *cache, const struct token_digest *digest,
                         bool allow_expired, int64_t until_us);
unsigned token_cache_count(const struct token_cache *cache);
