/*
 * Is a caller's token good?  What is known is answered in place; what is not goes to a small pool
 * of threads that ask Keystone, so that no HTTP thread ever waits for it.  Requests that come with
 * the same unknown token share one question.  Addresses are asked for in turn, so that one with
 * many unknown tokens delays itself.  The queue is bounded: when it is full, the last question of
 * the address with most goes for a question of one with fewer; and so is the number of those who
 * share one.  Whoever waits has his answer by a deadline: ERROR_TRY_LATER, never "let him in".
 *
 * Thread-safe.  Order of locks: none is held while anything else is called.
 */
#pragma once

#include "identity/keystone.h"
#include "identity/token_waiter.h"

struct token_checker;

struct token_checker_settings {
    struct keystone *keystone; /* the caller's; outlives the checker */
    int64_t cache_ms;          /* life of a verdict; 0: a verdict is for those who wait for it */
    int64_t deadline_ms;       /* for an unknown token; 0: 10 000 */
    unsigned threads;          /* 0: 8 */
    unsigned queue;           /* questions that may wait at once, and as many callers more who share
                                * one; 0: 250 */
    unsigned tokens;          /* good ones that are remembered; 0: 10 000 */
    const char *service_type; /* in the catalog's words; NULL: unset */
    bool catalog;             /* Keystone is asked for the catalog too */
};

struct token_checker *token_checker_new(const struct token_checker_settings *settings);
/* Whoever waits is answered first, with ERROR_TRY_LATER. NULL is fine. */
void token_checker_free(struct token_checker *checker);

enum token_outcome {
    TOKEN_REFUSED = -1, /* err: UNAUTHORIZED or UNAVAILABLE */
    TOKEN_GOOD = 0,
    TOKEN_LATER = 1, /* waiter->done is called once, perhaps already */
};

/* `text` is trimmed of blanks.  Without `allow_expired` a good token has not expired. */
enum token_outcome token_check(struct token_checker *checker, const char *text, bool allow_expired,
                               struct token_waiter *waiter, const struct token **ret,
                               struct error *err);
