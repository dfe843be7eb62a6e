/*
 * A request that waits for the validation of its token.
 */
#pragma once

#include "identity/token.h"

#include <sys/queue.h>

/* `token` is released by the receiver; NULL: see err, UNAUTHORIZED or UNAVAILABLE. */
typedef void token_done(void *arg, const struct token *token, const struct error *err);

/* Memory of the caller that lives until `done` is called. */
struct token_waiter {
    token_done *done; /* called by a thread of the checker, or by a request for which this one was
                       * dropped */
    void *arg;
    const char *peer;                /* address of the client; NULL: none */
    STAILQ_ENTRY(token_waiter) next; /* the checker's */
};
