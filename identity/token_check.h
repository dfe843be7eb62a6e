/*
 * Validation of callers' tokens.  Known tokens are answered from the cache; unknown ones go to a
 * small thread pool that calls Keystone, so that no HTTP thread waits for it.  Requests with the
 * same unknown token share one validation.  Client addresses are served round-robin, so that an
 * address with many unknown tokens delays only itself.  The queue is bounded: when it is full, the
 * last validation of the largest address is dropped in favour of an address with fewer; the number
 * of requests that share a validation is bounded, too.  A request is answered by its deadline: with
 * ERROR_TRY_LATER, never with access.
 *
 * Thread-safe.  No lock is held while functions of others are called.
 */
#pragma once

#include "identity/keystone.h"
#include "identity/token_waiter.h"

struct token_checker;

struct token_checker_settings {
    struct keystone *keystone; /* the caller's; outlives the checker */
    int64_t cache_ms;          /* lifetime of a result; 0: not cached */
    int64_t deadline_ms;       /* for an unknown token; 0: 10 000 */
    unsigned threads;          /* 0: 8 */
    unsigned queue;            /* limit of queued validations, and of further requests that share
                               * one; 0: 250 */
    unsigned tokens;           /* cached valid tokens; 0: 10 000 */
    const char *service_type;  /* as the catalog names it; NULL: unset */
    bool catalog;              /* Keystone includes the catalog */
};

struct token_checker *token_checker_new(const struct token_checker_settings *settings);
/* Answers pending requests first, with ERROR_TRY_LATER. NULL is fine. */
void token_checker_free(struct token_checker *checker);

enum token_outcome {
    TOKEN_REFUSED = -1, /* err: UNAUTHORIZED or UNAVAILABLE */
    TOKEN_GOOD = 0,
    TOKEN_LATER = 1, /* waiter->done is called once, possibly already */
};

/* `text` is trimmed of blanks.  Without `allow_expired` a valid token has not expired. */
enum token_outcome token_check(struct token_checker *checker, const char *text, bool allow_expired,
                               struct token_waiter *waiter, const struct token **ret,
                               struct error *err);
