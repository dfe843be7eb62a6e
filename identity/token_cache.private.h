/*
 * Validation results by digest of the token, for a bounded time and in a bounded number: the least
 * recently used is evicted.  Valid and invalid tokens have separate limits, so that guessed tokens
 * do not evict valid ones.
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

/* NULL: no valid token is known.  *ret_bad: it is known to be invalid; with `allow_expired` even if
 * it may have expired.  The caller gets a reference. */
const struct token *token_cache_find(struct token_cache *cache, const struct token_digest *digest,
                                     bool allow_expired, int64_t now_us, bool *ret_bad);
/* `now_us` and `until_us` are of CLOCK_BOOTTIME: entries expire while the machine is suspended,
 * too. */
void token_cache_put(struct token_cache *cache, const struct token_digest *digest,
                     const struct token *token, int64_t until_us);
void token_cache_put_bad(struct token_cache *cache, const struct token_digest *digest,
                         bool allow_expired, int64_t until_us);
unsigned token_cache_count(const struct token_cache *cache);
