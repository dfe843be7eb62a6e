/*
 * The open validations: token, waiting requests, and order of service.
 *
 * Client addresses are served round-robin, so that an address with many unknown tokens delays only
 * itself.  At most `most` validations are queued: beyond that, the last one of the largest address
 * is dropped in favour of an address with fewer.  Their clients are not authenticated yet, so they
 * must not occupy all connections of the server, neither with many tokens nor with a shared one:
 * the number of requests that share validations has the same limit.
 *
 * The caller locks.
 */
#pragma once

#include "identity/token_cache.private.h"
#include "identity/token_waiter.h"

STAILQ_HEAD(token_waiters, token_waiter);

struct token_asked {
    const char *text; /* the token */
    size_t size;
    struct token_digest digest;
    bool allow_expired;
    int64_t deadline_us;
};

/* A validation of one token, with all requests that wait for it. */
struct question {
    TAILQ_ENTRY(question) queue;
    struct asker *asker; /* while it is queued */
    LIST_ENTRY(question) open;
    struct token_waiters waiters;
    unsigned joined;          /* beyond the first */
    struct token_asked asked; /* its text is the one below */
    char text[];              /* wiped on release */
};

struct token_queue {
    TAILQ_HEAD(askers, asker) askers; /* in order of service; each has at least one question */
    LIST_HEAD(open_questions, question) open; /* queued, and taken until token_queue_end() */
    unsigned most, queued, joined;
    bool closed; /* accepts no more questions */
};

void token_queue_init(struct token_queue *queue, unsigned most);

/* The waiter joins the question about the same token, or a new one is queued.  False: over the
 * limit.  *ret_gone, if set, was dropped for it, and belongs to the caller. */
bool token_queue_enter(struct token_queue *queue, const struct token_asked *asked,
                       struct token_waiter *waiter, struct question **ret_gone);

/* The next one, which requests can still join; NULL: none. */
struct question *token_queue_take(struct token_queue *queue);
/* Closes it to further requests: its waiters belong to the caller. */
void token_queue_end(struct token_queue *queue, struct question *question);

/* Its waiters have been answered. */
void question_free(struct question *question);
