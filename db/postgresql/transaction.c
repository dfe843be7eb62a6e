#include "db/postgresql/transaction.h"

#include "common/assert.h"
#include "common/backoff.h"
#include "common/heap.h"
#include "common/thread.h"
#include "db/postgresql/commit.h"
#include "db/postgresql/listener.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A restarting server is usually back within DOUBT_US. */
#define AGAIN_US (10 * SECOND_US)
#define DOUBT_US (30 * SECOND_US)
enum { TRIES_CONCURRENT = 2, READ_TRIES = 3, PAUSE_MOST_US = 50000 };

struct outcome {
    int result;
    struct error err;
};

struct attempt {
    struct postgresql_db *db;
    struct db_job *first;
    unsigned count;
    struct outcome *outcomes;
    struct postgresql_tx tx;
    bool exclusive; /* no other writer has a transaction */
};

/* ---- one attempt ---- */

static int fault_check(const struct postgresql_db *db, const char *point, struct error *err) {
    return db->fault ? db->fault(db->fault_arg, point, err) : 0;
}

static enum commit_outcome attempt_failed(const struct session *session) {
    return session->server.fate == SESSION_GOOD ? COMMIT_FAILED : COMMIT_AGAIN;
}

/* -1: the transaction is aborted. */
static int job_run(struct attempt *attempt, const struct db_job *job, struct outcome *outcome) {
    struct session *session = attempt->tx.session;
    unsigned waiting = session->ahead_count;
    unsigned events = attempt->tx.base.events;
    bool divided = attempt->count > 1;

    assert(attempt->tx.base.writes && attempt->tx.session->open == 0);
    if (divided)
        session_ahead(session, "SAVEPOINT body");
    outcome->result = session_body(&attempt->tx, job->body, job->arg, &outcome->err);
    if (session->server.fate != SESSION_GOOD)
        return -1;
    if (outcome->result < 0)
        attempt->tx.base.events = events;
    if (divided && session->ahead_count > 0) {
        session->ahead_count = waiting; /* it ran no statement */
    } else if (divided) {
        if (outcome->result < 0)
            session_ahead(session, "ROLLBACK TO body");
        session_ahead(session, "RELEASE body");
    }
    return 0;
}

static enum commit_outcome jobs_run(struct attempt *attempt, struct error *err) {
    const struct db_job *job = attempt->first;
    bool any = false;

    assert(attempt->count > 0);
    for (unsigned i = 0; i < attempt->count; i++, job = job->next) {
        struct outcome *outcome = &attempt->outcomes[i];

        outcome->err = (struct error){ .kind = ERROR_NONE };
        if (job_run(attempt, job, outcome) < 0) {
            *err = attempt->tx.session->server.failure;
            return attempt_failed(attempt->tx.session);
        }
        any |= outcome->result >= 0;
    }
    return any ? COMMIT_DONE : COMMIT_FAILED;
}

/* All were refused, each with its own error: nothing to commit. */
static bool all_refused(const struct attempt *attempt) {
    for (unsigned i = 0; i < attempt->count; i++)
        if (attempt->outcomes[i].result >= 0)
            return false;
    return true;
}

static int attempt_begin(const struct attempt *attempt, struct error *err) {
    struct session *session = attempt->tx.session;

    session->server.fate = SESSION_GOOD;
    if (commit_register(session, attempt->db->base.local, err) < 0)
        return -1;
    if (attempt->exclusive)
        return commit_begin_exclusive(session, err);
    commit_begin(session);
    return 0;
}

static enum commit_outcome attempt_run(struct attempt *attempt, struct error *err) {
    struct session *session = attempt->tx.session;
    enum commit_outcome outcome;
    int fault;

    if (attempt_begin(attempt, err) < 0) {
        outcome = attempt_failed(session);
        session_rollback(session);
        return outcome;
    }
    outcome = jobs_run(attempt, err);
    if (outcome == COMMIT_FAILED && session->server.fate == SESSION_GOOD && all_refused(attempt)) {
        session_rollback(session);
        return COMMIT_DONE;
    }
    if (outcome != COMMIT_DONE) {
        session_rollback(session);
        return outcome;
    }
    fault = fault_check(attempt->db, "before_commit", err);
    if (fault != 0) {
        session_rollback(session);
        return fault == DB_FAULT_AGAIN ? COMMIT_AGAIN : COMMIT_FAILED;
    }
    assert(session->server.fate == SESSION_GOOD && session->open == 0);
    assert(!all_refused(attempt));
    outcome = commit_run(session, err);
    if (outcome == COMMIT_FAILED || outcome == COMMIT_AGAIN)
        session_rollback(session);
    if (outcome == COMMIT_DONE && fault_check(attempt->db, "after_commit", err) != 0)
        return COMMIT_FAILED;
    return outcome;
}

/* ---- commits in doubt ---- */

static void pause_us(int64_t duration_us) {
    struct timespec pause = clock_timespec(duration_us);

    nanosleep(&pause, NULL);
}

static bool is_ending(struct session_pool *pool) {
    scoped_lock(&pool->lock);
    return pool->ending;
}

/* Queries until the outcome is known.  If the server stays unreachable or the mark is gone it stays
 * unknown, as the error reports. */
static enum commit_outcome doubt_resolve(struct postgresql_db *db, const char *writer, int64_t mark,
                                         struct error *err) {
    int64_t until_us = clock_monotonic_us() + DOUBT_US;
    enum commit_outcome outcome = COMMIT_IN_DOUBT;
    struct session *session;

    assert(*writer && mark > 0);
    for (;;) {
        if (session_open(&db->writers.settings, &session, err) == 0) {
            outcome = commit_ask(session, writer, mark, err);
            session_close(session);
        }
        if (outcome == COMMIT_FAILED)
            break;
        if (outcome != COMMIT_IN_DOUBT)
            return outcome;
        if (clock_monotonic_us() > until_us || is_ending(&db->writers))
            break;
        pause_us(PAUSE_MOST_US);
    }
    error_context(err, "The outcome of the change is unknown");
    return COMMIT_FAILED;
}

/* ---- retries ---- */

static void outcomes_fail(struct attempt *attempt, const struct error *err) {
    attempt->tx.base.events = 0;
    for (unsigned i = 0; i < attempt->count; i++)
        attempt->outcomes[i] = (struct outcome){ -1, *err };
}

static enum commit_outcome attempt_once(struct attempt *attempt, struct error *err) {
    struct postgresql_db *db = attempt->db;
    enum commit_outcome outcome;
    char writer[UUID_SIZE];
    int64_t mark;

    attempt->tx =
        (struct postgresql_tx){ .base = { .engine = &postgresql_engine, .writes = true } };
    if (session_pool_take(&db->writers, &attempt->tx.session, err) < 0)
        return COMMIT_FAILED;
    outcome = attempt_run(attempt, err);
    strcpy(writer, attempt->tx.session->writer);
    mark = attempt->tx.session->mark;
    session_pool_give(&db->writers, attempt->tx.session);
    if (outcome == COMMIT_IN_DOUBT)
        outcome = doubt_resolve(db, writer, mark, err);
    return outcome;
}

/* The reason of the last failed attempt: a conflict, or an unavailable lock. */
static void tell_busy(struct error *err) {
    static const char busy[] = "The database is too busy with other changes";

    if (err->kind == ERROR_NONE)
        error_set(err, ERROR_UNAVAILABLE, "%s.", busy);
    else
        error_context(err, "%s", busy);
    err->kind = ERROR_UNAVAILABLE;
}

/*
 * 0: every job has its outcome.  -1: the group conflicted repeatedly; each job must be run alone.
 *
 * A conflict may last as long as a transaction of another program on the server (commit.h).
 * Therefore every third attempt is exclusive, which does not conflict.
 */
static int attempts_run(struct attempt *attempt) {
    /* Of random length, so that two conflicting transactions do not conflict again. */
    const struct backoff_limits pauses = { .first_us = 1000,
                                           .most_us = PAUSE_MOST_US,
                                           .jitter_percent = 100,
                                           .clock = attempt->db->base.local };
    int64_t until_us = clock_monotonic_us() + AGAIN_US;
    struct error err = { .kind = ERROR_NONE };

    for (unsigned tries = 0;; tries++) {
        attempt->exclusive = tries % (TRIES_CONCURRENT + 1) == TRIES_CONCURRENT;
        switch (attempt_once(attempt, &err)) {
        case COMMIT_DONE:
            return 0;
        case COMMIT_AGAIN:
            break;
        default:
            outcomes_fail(attempt, &err);
            return 0;
        }
        if (attempt->count > 1 && attempt->exclusive)
            return -1;
        if (clock_monotonic_us() > until_us) {
            tell_busy(&err);
            outcomes_fail(attempt, &err);
            return 0;
        }
        pause_us(backoff_pause_us(&pauses, tries + 1));
    }
}

static void outcomes_tell(struct attempt *attempt) {
    struct db_job *next;
    unsigned i = 0;

    assert(attempt->count > 0);
    for (struct db_job *job = attempt->first; i < attempt->count; job = next, i++) {
        next = job->next; /* the caller's memory until its result is reported */
        job->done(job, attempt->outcomes[i].result, &attempt->outcomes[i].err);
    }
    for (unsigned event = 0; event < DB_EVENTS; event++)
        if (attempt->tx.base.events & 1U << event) {
            postgresql_hook(attempt->db, event);
            if (attempt->db->listener)
                listener_tell(attempt->db->listener, event);
        }
}

void transaction_run(struct postgresql_db *db, struct db_job *first, unsigned count) {
    struct outcome *outcomes = heap_new(count * sizeof(*outcomes));
    struct attempt attempt = { .db = db, .first = first, .count = count, .outcomes = outcomes };
    struct db_job *next;

    assert(count > 0);
    if (attempts_run(&attempt) == 0) {
        outcomes_tell(&attempt);
    } else {
        for (struct db_job *job = first; job; job = next) {
            next = job->next;
            transaction_run(db, job, 1);
        }
    }
    free(outcomes);
}

/* ---- reading ---- */

static int read_once(struct session *session, db_body *body, void *arg, struct error *err) {
    struct postgresql_tx tx = { .base = { .engine = &postgresql_engine }, .session = session };
    int result;

    assert(session->open == 0);
    session_begin(session, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    result = session_body(&tx, body, arg, err);
    /* nothing was written: its end needs no wait */
    session_rollback_later(session);
    return result;
}

int transaction_read(struct postgresql_db *db, db_body *body, void *arg, struct error *err) {
    struct session *session;
    enum session_fate fate;
    int result;

    for (unsigned tries = 0;; tries++) {
        if (session_pool_take(&db->readers, &session, err) < 0)
            return -1;
        result = read_once(session, body, arg, err);
        fate = session->server.fate;
        session_pool_give(&db->readers, session);
        if (fate == SESSION_GOOD || result >= 0 || tries + 1 >= READ_TRIES)
            return result;
    }
}
