/*
 * The questions to Keystone that are open: which tokens, who waits for each, and whose turn is
 * next.
 *
 * Addresses are asked for in turn, so that one with many unknown tokens delays itself.  At most
 * `most` questions are queued: when there are as many, the last one of the address with most goes
 * for a question of one with fewer.  Nobody knows yet who they are, so they must not hold all
 * places that the server has for clients, neither by many tokens nor by one that all of them bring:
 * as many callers may share questions.
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

/* A token that Keystone is asked about, and all who wait for the answer. */
struct question {
    TAILQ_ENTRY(question) queue;
    struct asker *asker; /* while it is queued */
    LIST_ENTRY(question) open;
    struct token_waiters waiters;
    unsigned joined;          /* those behind the first */
    struct token_asked asked; /* its text is the one below */
    char text[];              /* wiped with the question */
};

struct token_queue {
    TAILQ_HEAD(askers, asker) askers; /* the next one in turn first; each has a question at least */
    LIST_HEAD(open_questions, question) open; /* queued, and taken until token_queue_end() */
    unsigned most, queued, joined;
    bool closed; /* takes no more questions */
};

void token_queue_init(struct token_queue *queue, unsigned most);

/* The waiter joins the question about the same token, or a new one is put.  False: too many wait.
 * *ret_gone, when it is set: had to go for it, and is the caller's. */
bool token_queue_enter(struct token_queue *queue, const struct token_asked *asked,
                       struct token_waiter *waiter, struct question **ret_gone);

/* The next in turn, which others may still join; NULL: none. */
struct question *token_queue_take(struct token_queue *queue);
/* Nobody joins it from here on: its waiters are the caller's own. */
void token_queue_end(struct token_queue *queue, struct question *question);

/* Its waiters have been answered. */
void question_free(struct question *question);
