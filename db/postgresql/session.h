/*
 * One session with a PostgreSQL server.  It is used by one thread at a time; whatever it waits for
 * has a deadline, behind which the session counts as lost: nothing hangs on a server or a network
 * that has gone silent.
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
    bool ending;   /* the answer to the end of a reading transaction is not read yet */
    const char *ahead[SESSION_AHEAD_MOST]; /* go out in front of the next statement */
    unsigned ahead_count;
    int64_t born_us; /* monotonic */

    /* Of a session that writes: see commit.h. */
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
bool session_alive(struct session *session); /* asks nobody: what this machine knows */

/* Runs one or several statements without places, and reads what the last of them said. */
int session_run(struct session *session, const char *sql, struct error *err);
/* Copies the first column of the first row; "" when there is none. */
int session_text(struct session *session, const char *sql, char *text, size_t size,
                 struct error *err);

/* Statements that open and divide a transaction cost no time of their own: they are sent together
 * with the next one. The text must be constant. */
void session_ahead(struct session *session, const char *sql);
void session_begin(struct session *session, const char *sql);
int session_ahead_now(struct session *session, struct error *err); /* sends them alone */

/* Ends the transaction without its changes; whatever comes of it. */
void session_rollback(struct session *session);

/* The same without waiting: the answer is read before the next statement. */
void session_rollback_later(struct session *session);

/* Runs a prepared statement, behind what goes ahead of it. */
PGresult *session_execute(struct session *session, const char *name, int count,
                          const char *const *values, struct error *err);

/* Runs a body in the calling thread. A body inside a body, or rows left open, are bugs: asserts. */
int session_body(struct postgresql_tx *tx, db_body *body, void *arg, struct error *err);
bool session_inside_body(void); /* of the calling thread */
