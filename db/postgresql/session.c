#include "db/postgresql/session.h"

#include "common/cleanup.h"
#include "db/postgresql/answer.h"

#include <assert.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

/* ---- statements that go ahead ---- */

void session_ahead(struct session *session, const char *sql) {
    assert(session->ahead_count < SESSION_AHEAD_MOST);
    session->ahead[session->ahead_count++] = sql;
}

void session_begin(struct session *session, const char *sql) {
    session->fate = SESSION_GOOD;
    session->failure.kind = ERROR_NONE;
    session->ahead_count = 0;
    session_ahead(session, sql);
}

static bool pipeline_send(struct session *session, const char *name, int count,
                          const char *const *values) {
    if (!PQenterPipelineMode(session->handle))
        return false;
    for (unsigned i = 0; i < session->ahead_count; i++)
        if (!PQsendQueryParams(session->handle, session->ahead[i], 0, NULL, NULL, NULL, NULL, 0))
            return false;
    session->ahead_count = 0;
    return PQsendQueryPrepared(session->handle, name, count, values, NULL, NULL, 0) &&
           PQpipelineSync(session->handle);
}

/* ---- statements without places ---- */

int session_settle(struct session *session, struct error *err) {
    PGresult *result;

    if (!session->ending)
        return 0;
    session->ending = false;
    result = answer_read(session, err);
    PQclear(result);
    return result ? 0 : -1;
}

static PGresult *send_failed(struct session *session, struct error *err) {
    answer_lost_as_told(session, err);
    return NULL;
}

PGresult *session_execute(struct session *session, const char *name, int count,
                          const char *const *values, struct error *err) {
    if (session_settle(session, err) < 0)
        return NULL;
    if (session->ahead_count > 0)
        return pipeline_send(session, name, count, values) ? answer_read_pipeline(session, err)
                                                           : send_failed(session, err);
    return PQsendQueryPrepared(session->handle, name, count, values, NULL, NULL, 0)
               ? answer_read(session, err)
               : send_failed(session, err);
}

static PGresult *session_ask(struct session *session, const char *sql, struct error *err) {
    arena_reset(session->scratch);
    for (; session->ahead_count > 0; session->ahead_count--)
        sql =
            arena_format(session->scratch, "%s;%s", session->ahead[session->ahead_count - 1], sql);
    if (session_settle(session, err) < 0)
        return NULL;
    return PQsendQuery(session->handle, sql) ? answer_read(session, err)
                                             : send_failed(session, err);
}

int session_run(struct session *session, const char *sql, struct error *err) {
    PGresult *result = session_ask(session, sql, err);

    PQclear(result);
    return result ? 0 : -1;
}

int session_ahead_now(struct session *session, struct error *err) {
    return session->ahead_count > 0
               ? session_run(session, session->ahead[--session->ahead_count], err)
               : session_settle(session, err);
}

int session_text(struct session *session, const char *sql, char *text, size_t size,
                 struct error *err) {
    PGresult *result = session_ask(session, sql, err);

    if (!result)
        return -1;
    snprintf(text, size, "%s", PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "");
    PQclear(result);
    return 0;
}

int session_number(struct session *session, const char *sql, int64_t *ret, struct error *err) {
    char text[32];

    if (session_text(session, sql, text, sizeof(text), err) < 0)
        return -1;
    *ret = strtoll(text, NULL, 10);
    return 0;
}

/* Is there a transaction at the server? */
static bool session_began(struct session *session) {
    PGTransactionStatusType status = PQtransactionStatus(session->handle);

    session->ahead_count = 0;
    return session->fate != SESSION_LOST &&
           (status == PQTRANS_INTRANS || status == PQTRANS_INERROR);
}

void session_rollback(struct session *session) {
    enum session_fate fate = session->fate;
    struct error failure = session->failure;

    if (!session_began(session) || session_run(session, "ROLLBACK", NULL) < 0)
        return;
    session->fate = fate; /* of the transaction, not of its end */
    session->failure = failure;
}

void session_rollback_later(struct session *session) {
    if (!session_began(session))
        return;
    if (!PQsendQuery(session->handle, "ROLLBACK") || PQflush(session->handle) < 0)
        session->fate = SESSION_LOST;
    else
        session->ending = true;
}

/* ---- beginning and end ---- */

static void notice_drop(void *arg, const char *message) {
    (void)arg;
    (void)message;
}

static int session_connect(struct session *session, struct error *err) {
    const struct session_settings *settings = session->settings;
    int64_t until_us = clock_monotonic_us() + (int64_t)settings->connect_ms * 1000;
    PostgresPollingStatusType wants = PGRES_POLLING_WRITING;

    session->handle = PQconnectStartParams((const char *const *)settings->keywords,
                                           (const char *const *)settings->values, 0);
    if (!session->handle)
        abort();
    while (PQstatus(session->handle) != CONNECTION_BAD && wants != PGRES_POLLING_OK &&
           wants != PGRES_POLLING_FAILED) {
        if (!answer_wait(session->handle, wants == PGRES_POLLING_READING ? POLLIN : POLLOUT,
                         until_us))
            return error_set(err, ERROR_UNAVAILABLE, "The database does not answer.");
        wants = PQconnectPoll(session->handle);
    }
    if (PQstatus(session->handle) != CONNECTION_OK)
        return error_set(err, ERROR_UNAVAILABLE, "%s",
                         answer_line(session->scratch, PQerrorMessage(session->handle)));
    PQsetnonblocking(session->handle, 1);
    PQsetNoticeProcessor(session->handle, notice_drop, NULL);
    return 0;
}

/*
 * What was answered must be on disk.  A statement that stays alone on the server must end.  Under
 * SERIALIZABLE a scan of a whole table conflicts with every change of it, so a session that writes
 * goes by indexes wherever it can.
 */
static int session_setup(struct session *session, struct error *err) {
    const struct session_settings *settings = session->settings;
    const char *sql =
        arena_format(session->scratch,
                     "SET jit = off; SET statement_timeout = %u; SET lock_timeout = %u;"
                     "SET idle_in_transaction_session_timeout = %u; SET enable_seqscan = %s;"
                     "SET standard_conforming_strings = on;"
                     "SELECT set_config('synchronous_commit', 'on', false) "
                     "WHERE current_setting('synchronous_commit') = 'off'",
                     settings->statement_ms / 4 * 3, settings->statement_ms / 2,
                     settings->statement_ms * 2, settings->writes ? "off" : "on");
    autofree char *kept = strdup(sql); /* asking empties the scratch memory */

    return session_run(session, kept, err);
}

int session_open(const struct session_settings *settings, struct session **ret, struct error *err) {
    struct session *session = calloc(1, sizeof(*session));

    if (!session)
        abort();
    session->settings = settings;
    session->scratch = arena_new();
    session->born_us = clock_monotonic_us();
    if (session_connect(session, err) < 0 || session_setup(session, err) < 0) {
        session_close(session);
        return error_context(err, "database %s", settings->where);
    }
    *ret = session;
    return 0;
}

void session_close(struct session *session) {
    assert(session->open == 0);
    prepared_forget_all(&session->prepared);
    PQfinish(session->handle);
    arena_free(session->scratch);
    free(session);
}

bool session_alive(struct session *session) {
    struct pollfd fd = { .fd = PQsocket(session->handle), .events = POLLIN };

    if (session->fate == SESSION_LOST || PQstatus(session->handle) != CONNECTION_OK)
        return false;
    /* Nobody asked anything: what can be read is the server's farewell, or the end. */
    if (poll(&fd, 1, 0) <= 0)
        return true;
    if (session->ending && session_settle(session, NULL) < 0)
        return false;
    return PQconsumeInput(session->handle) && PQstatus(session->handle) == CONNECTION_OK &&
           poll(&fd, 1, 0) == 0;
}

/* ---- bodies ---- */

static _Thread_local bool inside_body;

bool session_inside_body(void) {
    return inside_body;
}

int session_body(struct postgresql_tx *tx, db_body *body, void *arg, struct error *err) {
    struct error own = { .kind = ERROR_NONE };
    struct session *session = tx->session;
    int result;

    assert(!inside_body);
    session->failure.kind = ERROR_NONE;
    inside_body = true;
    result = body(&tx->base, arg, err ? err : &own);
    inside_body = false;
    assert(session->open == 0);
    /* A body that went on after a refusal: the server takes nothing more of this transaction. */
    if (result >= 0 && session->failure.kind != ERROR_NONE) {
        if (err)
            *err = session->failure;
        return -1;
    }
    return result;
}
