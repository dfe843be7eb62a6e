/*
 * Somebody who waits for the verdict about a token.
 */
#pragma once

#include "identity/token.h"

#include <sys/queue.h>

/* `token` is the receiver's to release; NULL: err says why, UNAUTHORIZED or UNAVAILABLE. */
typedef void token_done(void *arg, const struct token *token, const struct error *err);

/* Memory of the caller that lives until `done` is called. */
struct token_waiter {
    token_done *done; /* in a thread of the checker, or of one for whom this one had to go */
    void *arg;
    const char *peer;                /* address of the client; NULL: none */
    STAILQ_ENTRY(token_waiter) next; /* the checker's */
};
