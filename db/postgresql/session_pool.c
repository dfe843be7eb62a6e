#include "db/postgresql/session_pool.h"

#include "common/assert.h"
#include "common/log.h"
#include "common/thread.h"

#include <stdlib.h>

#define PAUSE_FIRST_US 50000
#define PAUSE_MOST_US  SECOND_US
/* Marks of sessions (see commit.h) are removed after a day. */
#define LIFE_US (3600 * SECOND_US)

static const struct backoff_limits pauses = { .first_us = PAUSE_FIRST_US,
                                              .most_us = PAUSE_MOST_US,
                                              .jitter_percent = BACKOFF_JITTER };

void session_pool_init(struct session_pool *pool, const struct session_settings *settings,
                       unsigned most, unsigned wait_ms) {
    assert(most > 0);
    *pool = (struct session_pool){ .settings = *settings, .most = most, .wait_ms = wait_ms };
    pthread_mutex_init(&pool->lock, NULL);
    thread_cond_init(&pool->returned);
}

void session_pool_end(struct session_pool *pool) {
    struct session *next;

    for (struct session *session = pool->idle; session; session = next) {
        next = session->next;
        session_close(session);
    }
    pthread_cond_destroy(&pool->returned);
    pthread_mutex_destroy(&pool->lock);
    session_settings_free(&pool->settings);
}

void session_pool_refuse(struct session_pool *pool) {
    scoped_lock(&pool->lock);
    pool->ending = true;
    pthread_cond_broadcast(&pool->returned);
}

/* Host and error of the database are for the operator's log only. */
static int away_fail(struct error *err) {
    return error_set(err, ERROR_UNAVAILABLE, "The database cannot be reached.");
}

/* Called with the lock held: an idle session, or a slot (counted) for a new one with *ret NULL. */
static int room_take(struct session_pool *pool, struct session **ret, struct error *err) {
    int64_t until_us = clock_monotonic_us() + (int64_t)pool->wait_ms * 1000;

    while (!pool->idle && pool->count >= pool->most)
        if (!thread_cond_wait(&pool->returned, &pool->lock, until_us))
            return error_set(err, ERROR_UNAVAILABLE, "All %u connections to the database are busy.",
                             pool->most);
    *ret = pool->idle;
    if (pool->idle) {
        pool->idle = pool->idle->next;
        return 0;
    }
    if (pool->ending)
        return error_set(err, ERROR_UNAVAILABLE, "The service is stopping.");
    if (backoff_waits(&pool->away, clock_monotonic_us()))
        return away_fail(err);
    if (pool->away.failures > 0) /* this caller tries; the others need not wait for its result */
        pool->away.due_us = clock_monotonic_us() + PAUSE_MOST_US;
    pool->count++;
    return 0;
}

static void room_free(struct session_pool *pool) {
    scoped_lock(&pool->lock);
    assert(pool->count > 0);
    pool->count--;
    pthread_cond_signal(&pool->returned);
}

static void away_note(struct session_pool *pool, int result) {
    scoped_lock(&pool->lock);
    if (result == 0)
        backoff_reset(&pool->away);
    else
        backoff_fail(&pool->away, &pauses, clock_monotonic_us());
}

static bool is_young(const struct session *session) {
    return clock_monotonic_us() - session->born_us < LIFE_US;
}

int session_pool_take(struct session_pool *pool, struct session **ret, struct error *err) {
    struct session *session = NULL;
    struct error why;
    int result;

    for (;;) {
        pthread_mutex_lock(&pool->lock);
        result = room_take(pool, &session, err);
        pthread_mutex_unlock(&pool->lock);
        if (result < 0)
            return -1;
        if (!session)
            break;
        if (is_young(session) && session_alive(session)) {
            session->server.fate = SESSION_GOOD;
            *ret = session;
            assert(session->open == 0);
            return 0;
        }
        session_close(session);
        room_free(pool);
    }
    result = session_open(&pool->settings, ret, &why);
    away_note(pool, result);
    if (result == 0)
        return 0;
    room_free(pool);
    log_error(NULL, "database unreachable", "reason", why.message, NULL);
    return away_fail(err);
}

void session_pool_give(struct session_pool *pool, struct session *session) {
    bool keep = session->server.fate != SESSION_LOST &&
                PQstatus(session->server.handle) == CONNECTION_OK && is_young(session);

    assert(session->open == 0);
    if (!keep) {
        session_close(session);
        room_free(pool);
        return;
    }
    scoped_lock(&pool->lock);
    session->next = pool->idle;
    pool->idle = session;
    pthread_cond_signal(&pool->returned);
}
