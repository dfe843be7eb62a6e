#include "db/postgresql/commit.h"

#include "common/assert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SQL_MOST = 256 };

const char commit_table_sql[] = "CREATE TABLE IF NOT EXISTS commit_marks ("
                                "writer TEXT PRIMARY KEY, mark BIGINT NOT NULL, "
                                "made_at TIMESTAMP WITH TIME ZONE NOT NULL)";

int commit_register(struct session *session, const struct clock *random, struct error *err) {
    char sql[SQL_MOST], writer[UUID_SIZE];

    if (*session->writer)
        return 0;
    clock_uuid(random, writer);
    snprintf(sql, sizeof(sql),
             "DELETE FROM commit_marks WHERE made_at < now() - interval '1 day';"
             "INSERT INTO commit_marks (writer, mark, made_at) VALUES ('%s', 0, now())",
             writer);
    if (session_run(session, sql, err) < 0)
        return -1;
    strcpy(session->writer, writer);
    session->mark = 0;
    return 0;
}

/* LOCK TABLE takes no snapshot.  The first statement behind it takes one, which includes every
 * commit that the lock waited for. */
void commit_begin(struct session *session) {
    assert(*session->writer);
    session_begin(session, "BEGIN ISOLATION LEVEL SERIALIZABLE");
    session_ahead(session, "LOCK TABLE commit_marks IN ROW EXCLUSIVE MODE");
}

/*
 * Without concurrent writers REPEATABLE READ is serializable.  The wait for the lock is short,
 * because every writer that begins meanwhile waits behind it.  An older version of the program does
 * not lock at the start of a transaction: the update of all marks makes its commit fail if it
 * overlaps this transaction, and it runs again.
 */
int commit_begin_exclusive(struct session *session, struct error *err) {
    assert(*session->writer);
    session_begin(session, "BEGIN ISOLATION LEVEL REPEATABLE READ");
    session_ahead(session, "SET LOCAL lock_timeout = 1000");
    session_ahead(session, "LOCK TABLE commit_marks IN SHARE ROW EXCLUSIVE MODE");
    session_ahead(session, "UPDATE commit_marks SET made_at = made_at");
    return session_ahead_now(session, err);
}

/* SQLSTATE of a division by zero.  Without its row in commit_marks a transaction must not commit,
 * because its outcome could not be determined later: so commit_run() divides by the number of rows,
 * and the server stops before it reaches the COMMIT. */
static const char no_row[] = "22012";

enum commit_outcome commit_run(struct session *session, struct error *err) {
    char sql[SQL_MOST];

    assert(*session->writer && session->mark >= 0);
    session->mark++;
    snprintf(sql, sizeof(sql),
             "WITH marked AS (UPDATE commit_marks SET mark = %lld WHERE writer = '%s' AND "
             "mark >= 0 RETURNING 1) SELECT 1 / COUNT(*) FROM marked;COMMIT",
             (long long)session->mark, session->writer);
    if (session_run(session, sql, err) == 0)
        return COMMIT_DONE;
    if (session->server.fate == SESSION_LOST)
        return COMMIT_IN_DOUBT;
    if (strcmp(session->server.state, no_row) == 0) {
        session->writer[0] = '\0'; /* forces a new row */
        return COMMIT_AGAIN;
    }
    return session->server.fate == SESSION_AGAIN ? COMMIT_AGAIN : COMMIT_FAILED;
}

enum commit_outcome commit_ask(struct session *session, const char *writer, int64_t mark,
                               struct error *err) {
    char sql[SQL_MOST], found[32];

    assert(*writer && mark > 0);
    if (session_run(session, "BEGIN ISOLATION LEVEL READ COMMITTED", err) < 0)
        return COMMIT_IN_DOUBT;
    snprintf(sql, sizeof(sql), "SELECT mark FROM commit_marks WHERE writer = '%s' FOR UPDATE",
             writer);
    if (session_text(session, sql, found, sizeof(found), err) < 0) {
        session_rollback(session);
        return COMMIT_IN_DOUBT;
    }
    if (*found == '\0') {
        session_rollback(session);
        error_set(err, ERROR_UNAVAILABLE, "The commit mark is missing");
        return COMMIT_FAILED;
    }
    if (strtoll(found, NULL, 10) == mark) {
        session_rollback(session);
        return COMMIT_DONE;
    }
    snprintf(sql, sizeof(sql), "UPDATE commit_marks SET mark = -1 WHERE writer = '%s';COMMIT",
             writer);
    return session_run(session, sql, err) < 0 ? COMMIT_IN_DOUBT : COMMIT_AGAIN;
}
