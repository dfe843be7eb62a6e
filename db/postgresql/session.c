#include "db/postgresql/session.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/heap.h"

#include <poll.h>
#include <stdlib.h>

/* ---- statements sent ahead ---- */

void session_ahead(struct session *session, const char *sql) {
    assert(sql && *sql);
    assert(session->ahead_count < SESSION_AHEAD_MOST);
    session->ahead[session->ahead_count++] = sql;
}

void session_begin(struct session *session, const char *sql) {
    assert(session->open == 0);
    session->server.fate = SESSION_GOOD;
    session->server.failure.kind = ERROR_NONE;
    session->ahead_count = 0;
    session_ahead(session, sql);
}

static bool pipeline_send(struct session *session, const char *name, int count,
                          const char *const *values) {
    if (!PQenterPipelineMode(session->server.handle))
        return false;
    for (unsigned i = 0; i < session->ahead_count; i++)
        if (!PQsendQueryParams(session->server.handle, session->ahead[i], 0, NULL, NULL, NULL, NULL,
                               0))
            return false;
    session->ahead_count = 0;
    return PQsendQueryPrepared(session->server.handle, name, count, values, NULL, NULL, 0) &&
           PQpipelineSync(session->server.handle);
}

/* ---- statements without parameters ---- */

/* Reads the result of session_rollback_later(), before anything else is sent. */
static int session_settle(struct session *session, struct error *err) {
    PGresult *result;

    if (!session->ending)
        return 0;
    session->ending = false;
    result = server_read(&session->server, err);
    PQclear(result);
    return result ? 0 : -1;
}

static PGresult *send_failed(struct session *session, struct error *err) {
    server_lost_as_told(&session->server, err);
    return NULL;
}

PGresult *session_execute(struct session *session, const char *name, int count,
                          const char *const *values, struct error *err) {
    if (session_settle(session, err) < 0)
        return NULL;
    if (session->ahead_count > 0)
        return pipeline_send(session, name, count, values)
                   ? server_read_pipeline(&session->server, err)
                   : send_failed(session, err);
    return PQsendQueryPrepared(session->server.handle, name, count, values, NULL, NULL, 0)
               ? server_read(&session->server, err)
               : send_failed(session, err);
}

static PGresult *session_ask(struct session *session, const char *sql, struct error *err) {
    arena_reset(session->server.scratch);
    for (; session->ahead_count > 0; session->ahead_count--)
        sql = arena_format(session->server.scratch, "%s;%s",
                           session->ahead[session->ahead_count - 1], sql);
    if (session_settle(session, err) < 0)
        return NULL;
    return PQsendQuery(session->server.handle, sql) ? server_read(&session->server, err)
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

/* Is there a transaction at the server? */
static bool session_began(struct session *session) {
    PGTransactionStatusType status = PQtransactionStatus(session->server.handle);

    session->ahead_count = 0;
    return session->server.fate != SESSION_LOST &&
           (status == PQTRANS_INTRANS || status == PQTRANS_INERROR);
}

void session_rollback(struct session *session) {
    enum session_fate fate = session->server.fate;
    struct error failure = session->server.failure;

    if (!session_began(session) || session_run(session, "ROLLBACK", NULL) < 0)
        return;
    session->server.fate = fate; /* of the transaction, not of its end */
    session->server.failure = failure;
}

void session_rollback_later(struct session *session) {
    if (!session_began(session)) /* as after a transaction without a statement */
        return;
    assert(!session->ending);
    if (!PQsendQuery(session->server.handle, "ROLLBACK") || PQflush(session->server.handle) < 0)
        session->server.fate = SESSION_LOST;
    else
        session->ending = true;
}

/* ---- opening and closing ---- */

/*
 * A commit is confirmed when it is on disk, so synchronous_commit must not be off.  The server ends
 * a statement or a transaction of a lost client by the limits given here.  Under SERIALIZABLE a
 * scan of a whole table conflicts with every change of it, so a writing session uses an index
 * wherever there is one.
 */
static int session_setup(struct session *session, struct error *err) {
    const struct session_settings *settings = session->server.settings;
    const char *sql =
        arena_format(session->server.scratch,
                     "SET jit = off; SET statement_timeout = %u; SET lock_timeout = %u;"
                     "SET idle_in_transaction_session_timeout = %u; SET enable_seqscan = %s;"
                     "SET standard_conforming_strings = on;"
                     "%s"
                     "SELECT set_config('synchronous_commit', 'on', false) "
                     "WHERE current_setting('synchronous_commit') = 'off'",
                     settings->statement_ms / 4 * 3, settings->statement_ms / 2,
                     settings->statement_ms * 2, settings->writes ? "off" : "on",
                     settings->read_only ? "SET default_transaction_read_only = on;" : "");
    autofree char *kept = heap_text(sql); /* running it empties the scratch memory */

    return session_run(session, kept, err);
}

int session_open(const struct session_settings *settings, struct session **ret, struct error *err) {
    struct session *session = heap_new(sizeof(*session));

    session->server.settings = settings;
    session->server.scratch = arena_new();
    session->born_us = clock_monotonic_us();
    if (server_connect(&session->server, err) < 0 || session_setup(session, err) < 0) {
        session_close(session);
        return error_context(err, "database %s", settings->where);
    }
    *ret = session;
    return 0;
}

void session_close(struct session *session) {
    assert(session->open == 0);
    prepared_forget_all(&session->prepared);
    PQfinish(session->server.handle);
    arena_free(session->server.scratch);
    free(session);
}

bool session_alive(struct session *session) {
    struct pollfd fd = { .fd = PQsocket(session->server.handle), .events = POLLIN };

    if (session->server.fate == SESSION_LOST || PQstatus(session->server.handle) != CONNECTION_OK)
        return false;
    /* without a pending statement any input is the server's goodbye, or the end */
    if (poll(&fd, 1, 0) <= 0)
        return true;
    if (session->ending && session_settle(session, NULL) < 0)
        return false;
    return PQconsumeInput(session->server.handle) &&
           PQstatus(session->server.handle) == CONNECTION_OK && poll(&fd, 1, 0) == 0;
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
    session->server.failure.kind = ERROR_NONE;
    inside_body = true;
    result = body(&tx->base, arg, err ? err : &own);
    inside_body = false;
    assert(session->open == 0);
    /* The body continued after a failed statement: the server refuses the rest. */
    if (result >= 0 && session->server.failure.kind != ERROR_NONE) {
        if (err)
            *err = session->server.failure;
        return -1;
    }
    return result;
}
