#include "db/postgresql_session.h"

#include "common/cleanup.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum { CLOCK_QUESTIONS = 3 };

struct failure {
    const char *state; /* SQLSTATE, or the two characters of its class */
    enum error_kind kind;
    enum session_fate fate;
    const char *text;
};

/* clang-format off */
static const struct failure failures[] = {
    { "23505", ERROR_CONFLICT,    SESSION_GOOD,  "The database refused a duplicate" },
    { "23503", ERROR_CONFLICT,    SESSION_GOOD,  "The database refused a broken reference" },
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

static int session_fail(struct session *session, enum session_fate fate, struct error *err) {
    session->fate = fate;
    if (err)
        *err = session->failure;
    return -1;
}

int session_lost(struct session *session, const char *why, struct error *err) {
    error_set(&session->failure, ERROR_UNAVAILABLE, "The connection to the database is lost: %s",
              why);
    return session_fail(session, SESSION_LOST, err);
}

static const struct failure *failure_find(const char *state) {
    for (size_t i = 0; i < LENGTH(failures); i++)
        if (strncmp(failures[i].state, state, strlen(failures[i].state)) == 0)
            return &failures[i];
    return NULL;
}

/* The first line of a message of libpq. */
static const char *message_line(struct arena *arena, const char *message) {
    return arena_text_n(arena, message, strcspn(message, "\n"));
}

static int result_failed(struct session *session, const PGresult *result, struct error *err) {
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *detail = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    const struct failure *failure = state ? failure_find(state) : NULL;

    if (!state)
        return session_lost(session, message_line(session->scratch, PQresultErrorMessage(result)),
                            err);
    if (strcmp(state, "25P02") == 0 && session->failure.kind != ERROR_NONE) {
        /* The transaction is of no use: why, it has said before. */
    } else if (failure)
        error_set(&session->failure, failure->kind, "%s: %s", failure->text, detail);
    else
        error_set(&session->failure, ERROR_INTERNAL, "The database failed: %s", detail);
    return session_fail(session, failure ? failure->fate : SESSION_GOOD, err);
}

/* ---- waiting ---- */

static bool socket_wait(const PGconn *handle, short events, int64_t until_us) {
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

static int session_flush(struct session *session, int64_t until_us, struct error *err) {
    int left;

    while ((left = PQflush(session->handle)) > 0) {
        if (!socket_wait(session->handle, POLLIN | POLLOUT, until_us))
            return session_lost(session, "it does not answer", err);
        if (!PQconsumeInput(session->handle))
            break;
    }
    return left < 0 ? session_lost(session, "it cannot be written to", err) : 0;
}

/* One answer, or NULL where a statement's answers end or the session is lost. */
static PGresult *result_next(struct session *session, int64_t until_us, struct error *err) {
    while (PQisBusy(session->handle)) {
        if (!socket_wait(session->handle, POLLIN, until_us)) {
            session_lost(session, "it does not answer", err);
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
        session_lost(session, message_line(session->scratch, PQerrorMessage(session->handle)), err);
    }
    if (PQstatus(session->handle) != CONNECTION_OK)
        session->fate = SESSION_LOST;
    PQclear(result);
    return NULL;
}

static int64_t statement_until(const struct session *session) {
    return clock_monotonic_us() + (int64_t)session->settings->statement_ms * 1000;
}

PGresult *session_result(struct session *session, struct error *err) {
    int64_t until_us = statement_until(session);
    PGresult *kept = NULL, *result;

    if (session_flush(session, until_us, err) < 0)
        return NULL;
    while ((result = result_next(session, until_us, err)))
        kept = result_keep(kept, result);
    return result_judge(session, kept, err);
}

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

/* Reads the answers of a pipeline up to its end. */
static PGresult *pipeline_result(struct session *session, struct error *err) {
    int64_t until_us = statement_until(session);
    PGresult *kept = NULL, *result;
    bool ended = false;

    if (session_flush(session, until_us, err) < 0)
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
    result = session_result(session, err);
    PQclear(result);
    return result ? 0 : -1;
}

static PGresult *send_failed(struct session *session, struct error *err) {
    session_lost(session, message_line(session->scratch, PQerrorMessage(session->handle)), err);
    return NULL;
}

PGresult *session_execute(struct session *session, const char *name, int count,
                          const char *const *values, struct error *err) {
    if (session_settle(session, err) < 0)
        return NULL;
    if (session->ahead_count > 0)
        return pipeline_send(session, name, count, values) ? pipeline_result(session, err)
                                                           : send_failed(session, err);
    return PQsendQueryPrepared(session->handle, name, count, values, NULL, NULL, 0)
               ? session_result(session, err)
               : send_failed(session, err);
}

static PGresult *session_ask(struct session *session, const char *sql, struct error *err) {
    arena_reset(session->scratch);
    for (; session->ahead_count > 0; session->ahead_count--)
        sql =
            arena_format(session->scratch, "%s;%s", session->ahead[session->ahead_count - 1], sql);
    if (session_settle(session, err) < 0)
        return NULL;
    return PQsendQuery(session->handle, sql) ? session_result(session, err)
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
        if (!socket_wait(session->handle, wants == PGRES_POLLING_READING ? POLLIN : POLLOUT,
                         until_us))
            return error_set(err, ERROR_UNAVAILABLE, "The database does not answer.");
        wants = PQconnectPoll(session->handle);
    }
    if (PQstatus(session->handle) != CONNECTION_OK)
        return error_set(err, ERROR_UNAVAILABLE, "%s",
                         message_line(session->scratch, PQerrorMessage(session->handle)));
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

/* ---- the URL ---- */

static const struct {
    const char *keyword, *value;
} own_parameters[] = {
    { "client_encoding", "UTF8" }, { "fallback_application_name", "scoria" },
    { "keepalives_idle", "10" },   { "keepalives_interval", "5" },
    { "keepalives_count", "3" },   { "tcp_user_timeout", "20000" },
};

/* A password with "/", "@" or "#" that is not written %XX ends up in other parts. */
static bool option_leaks(const PQconninfoOption *option) {
    const char *value = option->val;

    if (strcmp(option->keyword, "port") == 0)
        return value[strspn(value, "0123456789,")] != '\0';
    return (strcmp(option->keyword, "dbname") == 0 || strcmp(option->keyword, "host") == 0 ||
            strcmp(option->keyword, "user") == 0) &&
           strpbrk(value, "@#?") != NULL;
}

static const char *option_value(const PQconninfoOption *options, const char *keyword) {
    for (; options->keyword; options++)
        if (strcmp(options->keyword, keyword) == 0)
            return options->val && *options->val ? options->val : NULL;
    return NULL;
}

static char *where_text(const PQconninfoOption *options) {
    const char *host = option_value(options, "host"), *port = option_value(options, "port");
    const char *name = option_value(options, "dbname");
    char *text;

    if (asprintf(&text, "postgresql://%s%s%s/%s", host ? host : "", port ? ":" : "",
                 port ? port : "", name ? name : "") < 0)
        abort();
    return text;
}

static void settings_add(struct session_settings *settings, size_t index, const char *keyword,
                         const char *value) {
    settings->keywords[index] = strdup(keyword);
    settings->values[index] = strdup(value);
    if (!settings->keywords[index] || !settings->values[index])
        abort();
}

static int settings_fill(const PQconninfoOption *options, struct session_settings *settings) {
    size_t count = 0;

    for (const PQconninfoOption *option = options; option->keyword; option++)
        count++;
    settings->keywords = calloc(count + LENGTH(own_parameters) + 1, sizeof(char *));
    settings->values = calloc(count + LENGTH(own_parameters) + 1, sizeof(char *));
    if (!settings->keywords || !settings->values)
        abort();
    settings->where = where_text(options);
    count = 0;
    for (const PQconninfoOption *option = options; option->keyword; option++) {
        if (!option->val || !*option->val)
            continue;
        if (option_leaks(option))
            return -1;
        settings_add(settings, count++, option->keyword, option->val);
    }
    for (size_t i = 0; i < LENGTH(own_parameters); i++)
        if (!option_value(options, own_parameters[i].keyword))
            settings_add(settings, count++, own_parameters[i].keyword, own_parameters[i].value);
    return 0;
}

int session_settings_read(const char *url, struct session_settings *ret, struct error *err) {
    autofree char *plain = NULL;
    PQconninfoOption *options;
    int result = -1;

    *ret = (struct session_settings){ .where = NULL };
    if (asprintf(&plain, "postgresql%s", strstr(url, "://")) < 0)
        abort();
    options = PQconninfoParse(plain, NULL);
    if (options)
        result = settings_fill(options, ret);
    PQconninfoFree(options);
    if (result == 0)
        return 0;
    session_settings_free(ret);
    return error_set(
        err, ERROR_BAD_REQUEST,
        "database: the URL is not understood; it is postgresql://USER:PASSWORD@HOST:"
        "PORT/NAME?PARAMETER=VALUE with libpq's parameters, and any of / @ # ? %% in a "
        "part must be written %%XX");
}

void session_settings_free(struct session_settings *settings) {
    for (char **text = settings->keywords; text && *text; text++)
        free(*text);
    for (char **text = settings->values; text && *text; text++)
        free(*text);
    free(settings->keywords);
    free(settings->values);
    free(settings->where);
    *settings = (struct session_settings){ .where = NULL };
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

/* ---- the clock ---- */

int session_clock_offset(struct session *session, const struct clock *local, int64_t *ret_us,
                         struct error *err) {
    int64_t quickest_us = INT64_MAX;

    for (int i = 0; i < CLOCK_QUESTIONS; i++) {
        int64_t asked_us = clock_now_us(local), began_us = clock_monotonic_us(), took_us, server_us;

        if (session_number(session,
                           "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)",
                           &server_us, err) < 0)
            return -1;
        took_us = clock_monotonic_us() - began_us;
        if (took_us >= quickest_us)
            continue;
        quickest_us = took_us;
        *ret_us = server_us - asked_us - took_us / 2;
    }
    return 0;
}
