/*
 * A bounded number of sessions, opened when they are needed.  Who finds all of them taken waits for
 * one up to a deadline.  While the server is away one caller now and then tries it again, with a
 * growing pause; the others are refused at once (ERROR_UNAVAILABLE).
 */
#pragma once

#include "common/backoff.h"
#include "db/postgresql/session.h"

#include <pthread.h>

struct session_pool {
    struct session_settings settings;
    unsigned most, wait_ms;

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t returned;
    struct session *idle;
    unsigned count; /* idle and taken */
    bool ending;
    struct backoff away; /* of the server; monotonic */
};

/* Takes the settings over. */
void session_pool_init(struct session_pool *pool, const struct session_settings *settings,
                       unsigned most, unsigned wait_ms);
void session_pool_end(struct session_pool *pool); /* nothing is taken any more */

int session_pool_take(struct session_pool *pool, struct session **ret, struct error *err);
void session_pool_give(struct session_pool *pool,
                       struct session *session); /* closes what is lost or old */
void session_pool_refuse(
    struct session_pool *pool); /* from now on nothing is opened or waited for: the end is near */
