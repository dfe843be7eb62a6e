#include "db/postgresql/answer.h"

#include "common/cleanup.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

struct failure {
    const char *state; /* SQLSTATE, or the two characters of its class */
    enum error_kind kind;
    enum session_fate fate;
    const char *text;
};

/* clang-format off */
static const struct failure failures[] = {
    { "23505", ERROR_COLLISION,   SESSION_GOOD,  "The database refused a duplicate" },
    { "23503", ERROR_COLLISION,   SESSION_GOOD,  "The database refused a broken reference" },
    { "40001", ERROR_UNAVAILABLE, SESSION_AGAIN, "The database is busy with other changes" },
    { "40P01", ERROR_UNAVAILABLE, SESSION_AGAIN, "The database is busy with other changes" },
    { "0A000", ERROR_INTERNAL,    SESSION_LOST,  "The schema has changed" },
    { "26000", ERROR_INTERNAL,    SESSION_LOST,  "The server forgot a prepared statement" },
    { "25006", ERROR_UNAVAILABLE, SESSION_LOST,  "The database is read-only" },
    { "53100", ERROR_UNAVAILABLE, SESSION_GOOD,  "The disk of the database is full" },
    { "53300", ERROR_UNAVAILABLE, SESSION_LOST,  "The database takes no more connections" },
    { "53",    ERROR_UNAVAILABLE, SESSION_GOOD,  "The database is short of resources" },
    { "55P03", ERROR_UNAVAILABLE, SESSION_AGAIN, "The database is locked" },
    { "57014", ERROR_UNAVAILABLE, SESSION_GOOD,  "The database took too long" },
    { "57P",   ERROR_UNAVAILABLE, SESSION_LOST,  "The database is going away" },
    { "25P03", ERROR_UNAVAILABLE, SESSION_LOST,  "The database gave the transaction up" },
    { "08P01", ERROR_INTERNAL,    SESSION_LOST,  "The server did not understand" },
    { "08",    ERROR_UNAVAILABLE, SESSION_LOST,  "The connection to the database is lost" },
    { "58",    ERROR_UNAVAILABLE, SESSION_GOOD,  "The disk of the database fails" },
    { "XX001", ERROR_UNAVAILABLE, SESSION_GOOD,  "The database is corrupt" },
    { "XX002", ERROR_UNAVAILABLE, SESSION_GOOD,  "The database is corrupt" },
    { "42501", ERROR_UNAVAILABLE, SESSION_GOOD,  "The database does not permit it" },
    { "28",    ERROR_UNAVAILABLE, SESSION_LOST,  "The database does not let us in" },
};
/* clang-format on */

/* ---- failures ---- */

const char *answer_line(struct arena *arena, const char *message) {
    return arena_text_n(arena, message, strcspn(message, "\n"));
}

static int answer_fail(struct session *session, enum session_fate fate, struct error *err) {
    session->fate = fate;
    if (err)
        *err = session->failure;
    return -1;
}

int answer_lost(struct session *session, const char *why, struct error *err) {
    error_set(&session->failure, ERROR_UNAVAILABLE, "The connection to the database is lost: %s",
              why);
    return answer_fail(session, SESSION_LOST, err);
}

int answer_lost_as_told(struct session *session, struct error *err) {
    return answer_lost(session, answer_line(session->scratch, PQerrorMessage(session->handle)),
                       err);
}

static const struct failure *failure_find(const char *state) {
    for (size_t i = 0; i < LENGTH(failures); i++)
        if (strncmp(failures[i].state, state, strlen(failures[i].state)) == 0)
            return &failures[i];
    return NULL;
}

static int result_failed(struct session *session, const PGresult *result, struct error *err) {
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *detail = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    const struct failure *failure = state ? failure_find(state) : NULL;

    if (!state)
        return answer_lost(session, answer_line(session->scratch, PQresultErrorMessage(result)),
                           err);
    snprintf(session->state, sizeof(session->state), "%s", state);
    if (strcmp(state, "25P02") == 0 && session->failure.kind != ERROR_NONE) {
        /* The transaction is of no use: why, it has said before. */
    } else if (failure)
        error_set(&session->failure, failure->kind, "%s: %s", failure->text, detail);
    else
        error_set(&session->failure, ERROR_INTERNAL, "The database failed: %s", detail);
    return answer_fail(session, failure ? failure->fate : SESSION_GOOD, err);
}

/* ---- waiting ---- */

bool answer_wait(const PGconn *handle, short events, int64_t until_us) {
    struct pollfd fd = { .fd = PQsocket(handle), .events = events };
    int64_t left_us = until_us - clock_monotonic_us();

    while (left_us > 0) {
        int ready = poll(&fd, 1, (int)((left_us + 999) / 1000));

        if (ready > 0)
            return true;
        if (ready < 0 && errno != EINTR)
            return false;
        left_us = until_us - clock_monotonic_us();
    }
    return false;
}

static int answer_flush(struct session *session, int64_t until_us, struct error *err) {
    int left;

    while ((left = PQflush(session->handle)) > 0) {
        if (!answer_wait(session->handle, POLLIN | POLLOUT, until_us))
            return answer_lost(session, "it does not answer", err);
        if (!PQconsumeInput(session->handle))
            break;
    }
    return left < 0 ? answer_lost(session, "it cannot be written to", err) : 0;
}

/* One answer, or NULL where a statement's answers end or the session is lost. */
static PGresult *result_next(struct session *session, int64_t until_us, struct error *err) {
    while (PQisBusy(session->handle)) {
        if (!answer_wait(session->handle, POLLIN, until_us)) {
            answer_lost(session, "it does not answer", err);
            return NULL;
        }
        if (!PQconsumeInput(session->handle))
            break; /* what is still to come says why */
    }
    return PQgetResult(session->handle);
}

static bool result_bad(const PGresult *result) {
    return PQresultStatus(result) == PGRES_FATAL_ERROR ||
           PQresultStatus(result) == PGRES_PIPELINE_ABORTED;
}

/* Of several statements the first that failed counts, else the last. */
static PGresult *result_keep(PGresult *kept, PGresult *result) {
    if (kept && result_bad(kept)) {
        PQclear(result);
        return kept;
    }
    PQclear(kept);
    return result;
}

/* NULL when it is a failure or none at all. */
static PGresult *result_judge(struct session *session, PGresult *result, struct error *err) {
    if (result && !result_bad(result) && PQstatus(session->handle) == CONNECTION_OK)
        return result;
    if (session->fate == SESSION_LOST) { /* it has said why */
    } else if (result && result_bad(result)) {
        result_failed(session, result, err);
    } else {
        answer_lost_as_told(session, err);
    }
    if (PQstatus(session->handle) != CONNECTION_OK)
        session->fate = SESSION_LOST;
    PQclear(result);
    return NULL;
}

static int64_t statement_until(const struct session *session) {
    return clock_monotonic_us() + (int64_t)session->settings->statement_ms * 1000;
}

PGresult *answer_read(struct session *session, struct error *err) {
    int64_t until_us = statement_until(session);
    PGresult *kept = NULL, *result;

    if (answer_flush(session, until_us, err) < 0)
        return NULL;
    while ((result = result_next(session, until_us, err)))
        kept = result_keep(kept, result);
    return result_judge(session, kept, err);
}

/* Reads the answers of a pipeline up to its end. */
PGresult *answer_read_pipeline(struct session *session, struct error *err) {
    int64_t until_us = statement_until(session);
    PGresult *kept = NULL, *result;
    bool ended = false;

    if (answer_flush(session, until_us, err) < 0)
        return NULL;
    while (!ended) {
        result = result_next(session, until_us, err);
        ended = !result &&
                (session->fate == SESSION_LOST || PQstatus(session->handle) != CONNECTION_OK);
        if (result && PQresultStatus(result) == PGRES_PIPELINE_SYNC) {
            PQclear(result);
            ended = true;
        } else if (result) {
            kept = result_keep(kept, result);
        }
    }
    PQexitPipelineMode(session->handle);
    return result_judge(session, kept, err);
}
