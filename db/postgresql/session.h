/*
 * One session with a PostgreSQL server, used by one thread at a time.  Each wait has a deadline,
 * after which the session counts as lost: an unresponsive server or network blocks no thread.
 */
#pragma once

#include "db/engine.h"
#include "db/postgresql/prepared.h"
#include "db/postgresql/server.h"

enum { SESSION_AHEAD_MOST = 4 };

struct session {
    struct server server;
    struct prepared_cache prepared;
    unsigned open; /* rows not ended yet */
    bool ending;   /* the result of the end of a reading transaction is not read yet */
    const char *ahead[SESSION_AHEAD_MOST]; /* sent before the next statement */
    unsigned ahead_count;
    int64_t born_us; /* monotonic */

    /* Of a writing session: see commit.h. */
    char writer[UUID_SIZE]; /* "": not registered */
    int64_t mark;
    struct session *next; /* the pool's */
};

struct postgresql_tx {
    struct db_tx base;
    struct session *session;
    bool changed; /* a statement of db_run() ran */
};

int session_open(const struct session_settings *settings, struct session **ret, struct error *err);
void session_close(struct session *session);
bool session_alive(struct session *session); /* as known locally, without a query */

/* Runs one or several statements without parameters, and reads the result of the last. */
int session_run(struct session *session, const char *sql, struct error *err);
/* Copies the first column of the first row; "" when there is none. */
int session_text(struct session *session, const char *sql, char *text, size_t size,
                 struct error *err);

/* Statements that open and divide a transaction need no round trip: they are sent together with the
 * next one.  The text must be constant. */
void session_ahead(struct session *session, const char *sql);
void session_begin(struct session *session, const char *sql);
int session_ahead_now(struct session *session, struct error *err); /* sends them alone */

/* Rolls back; errors are ignored. */
void session_rollback(struct session *session);

/* The same without waiting: the result is read before the next statement. */
void session_rollback_later(struct session *session);

/* Runs a prepared statement, after those sent ahead of it. */
PGresult *session_execute(struct session *session, const char *name, int count,
                          const char *const *values, struct error *err);

/* Runs a body in the calling thread.  A body inside a body, or rows left open, fail assertions. */
int session_body(struct postgresql_tx *tx, db_body *body, void *arg, struct error *err);
bool session_inside_body(void); /* of the calling thread */
