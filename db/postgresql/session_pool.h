/*
 * A bounded number of sessions, opened on demand.  If all are in use the caller waits for one up to
 * a deadline.  While the server is unreachable a single caller retries with growing pauses; the
 * others are refused at once (ERROR_UNAVAILABLE).
 */
#pragma once

#include "common/backoff.h"
#include "db/postgresql/session.h"

#include <pthread.h>

struct session_pool {
    struct session_settings settings;
    unsigned most, wait_ms;

    pthread_mutex_t lock; /* guards the members below */
    pthread_cond_t returned;
    struct session *idle;
    unsigned count; /* idle and in use */
    bool ending;
    struct backoff away; /* of the server; monotonic */
};

/* Takes over the settings. */
void session_pool_init(struct session_pool *pool, const struct session_settings *settings,
                       unsigned most, unsigned wait_ms);
void session_pool_end(struct session_pool *pool); /* nothing is in use any more */

int session_pool_take(struct session_pool *pool, struct session **ret, struct error *err);
void session_pool_give(struct session_pool *pool,
                       struct session *session); /* closes lost and old ones */
void session_pool_refuse(
    struct session_pool *pool); /* shutdown: opens and waits for nothing from now on */
