#include "db/postgresql/server.h"

#include "common/cleanup.h"
#include "common/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
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
    { "53200", ERROR_UNAVAILABLE, SESSION_AGAIN, "The database is short of memory" },
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

static const char *server_line(struct arena *arena, const char *message) {
    return arena_text_n(arena, message, strcspn(message, "\n"));
}

static int server_fail(struct server *server, enum session_fate fate, struct error *err) {
    server->fate = fate;
    if (err)
        *err = server->failure;
    return -1;
}

int server_lost(struct server *server, const char *why, struct error *err) {
    error_set(&server->failure, ERROR_UNAVAILABLE, "The connection to the database is lost: %s",
              why);
    return server_fail(server, SESSION_LOST, err);
}

int server_lost_as_told(struct server *server, struct error *err) {
    return server_lost(server, server_line(server->scratch, PQerrorMessage(server->handle)), err);
}

static const struct failure *failure_find(const char *state) {
    for (size_t i = 0; i < LENGTH(failures); i++)
        if (strncmp(failures[i].state, state, strlen(failures[i].state)) == 0)
            return &failures[i];
    return NULL;
}

static int result_failed(struct server *server, const PGresult *result, struct error *err) {
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *detail = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    const struct failure *failure = state ? failure_find(state) : NULL;

    if (!state)
        return server_lost(server, server_line(server->scratch, PQresultErrorMessage(result)), err);
    snprintf(server->state, sizeof(server->state), "%s", state);
    if (strcmp(state, "25P02") == 0 && server->failure.kind != ERROR_NONE) {
        /* The transaction is aborted; the reason was reported before. */
    } else if (failure)
        error_set(&server->failure, failure->kind, "%s: %s", failure->text, detail);
    else
        error_set(&server->failure, ERROR_INTERNAL, "The database failed: %s", detail);
    return server_fail(server, failure ? failure->fate : SESSION_GOOD, err);
}

/* ---- waiting ---- */

static bool server_wait(const PGconn *handle, short events, int64_t until_us) {
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

static int server_flush(struct server *server, int64_t until_us, struct error *err) {
    int left;

    while ((left = PQflush(server->handle)) > 0) {
        if (!server_wait(server->handle, POLLIN | POLLOUT, until_us))
            return server_lost(server, "it does not answer", err);
        if (!PQconsumeInput(server->handle))
            break;
    }
    return left < 0 ? server_lost(server, "it cannot be written to", err) : 0;
}

/* One result, or NULL at the end of a statement's results or when the session is lost. */
static PGresult *result_next(struct server *server, int64_t until_us, struct error *err) {
    while (PQisBusy(server->handle)) {
        if (!server_wait(server->handle, POLLIN, until_us)) {
            server_lost(server, "it does not answer", err);
            return NULL;
        }
        if (!PQconsumeInput(server->handle))
            break; /* a later result has the reason */
    }
    return PQgetResult(server->handle);
}

static bool result_bad(const PGresult *result) {
    return PQresultStatus(result) == PGRES_FATAL_ERROR ||
           PQresultStatus(result) == PGRES_PIPELINE_ABORTED;
}

/* Of several statements the first failure counts, otherwise the last result. */
static PGresult *result_keep(PGresult *kept, PGresult *result) {
    if (kept && result_bad(kept)) {
        PQclear(result);
        return kept;
    }
    PQclear(kept);
    return result;
}

/* NULL when it is a failure or missing. */
static PGresult *result_judge(struct server *server, PGresult *result, struct error *err) {
    if (result && !result_bad(result) && PQstatus(server->handle) == CONNECTION_OK)
        return result;
    if (server->fate == SESSION_LOST) { /* the failure is set */
    } else if (result && result_bad(result)) {
        result_failed(server, result, err);
    } else {
        server_lost_as_told(server, err);
    }
    if (PQstatus(server->handle) != CONNECTION_OK)
        server->fate = SESSION_LOST;
    PQclear(result);
    return NULL;
}

static int64_t statement_until(const struct server *server) {
    return clock_monotonic_us() + (int64_t)server->settings->statement_ms * 1000;
}

PGresult *server_read(struct server *server, struct error *err) {
    int64_t until_us = statement_until(server);
    PGresult *kept = NULL, *result;

    if (server_flush(server, until_us, err) < 0)
        return NULL;
    while ((result = result_next(server, until_us, err)))
        kept = result_keep(kept, result);
    return result_judge(server, kept, err);
}

/* Reads the results of a pipeline to its end. */
PGresult *server_read_pipeline(struct server *server, struct error *err) {
    int64_t until_us = statement_until(server);
    PGresult *kept = NULL, *result;
    bool ended = false;

    if (server_flush(server, until_us, err) < 0)
        return NULL;
    while (!ended) {
        result = result_next(server, until_us, err);
        ended =
            !result && (server->fate == SESSION_LOST || PQstatus(server->handle) != CONNECTION_OK);
        if (result && PQresultStatus(result) == PGRES_PIPELINE_SYNC) {
            PQclear(result);
            ended = true;
        } else if (result) {
            kept = result_keep(kept, result);
        }
    }
    PQexitPipelineMode(server->handle);
    return result_judge(server, kept, err);
}

/* ---- connecting ---- */

static void notice_drop(void *arg, const char *message) {
    (void)arg;
    (void)message;
}

int server_connect(struct server *server, struct error *err) {
    const struct session_settings *settings = server->settings;
    int64_t until_us = clock_monotonic_us() + (int64_t)settings->connect_ms * 1000;
    PostgresPollingStatusType wants = PGRES_POLLING_WRITING;

    server->handle = PQconnectStartParams((const char *const *)settings->keywords,
                                          (const char *const *)settings->values, 0);
    if (!server->handle)
        abort();
    while (PQstatus(server->handle) != CONNECTION_BAD && wants != PGRES_POLLING_OK &&
           wants != PGRES_POLLING_FAILED) {
        if (!server_wait(server->handle, wants == PGRES_POLLING_READING ? POLLIN : POLLOUT,
                         until_us))
            return error_set(err, ERROR_UNAVAILABLE, "The database does not answer.");
        wants = PQconnectPoll(server->handle);
    }
    if (PQstatus(server->handle) != CONNECTION_OK)
        return error_set(err, ERROR_UNAVAILABLE, "%s",
                         server_line(server->scratch, PQerrorMessage(server->handle)));
    PQsetnonblocking(server->handle, 1);
    PQsetNoticeProcessor(server->handle, notice_drop, NULL);
    return 0;
}
