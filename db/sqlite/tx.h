/*
 * Transactions on one connection: opened, divided and ended here and nowhere else.
 */
#pragma once

#include "db/sqlite/connection.h"

/* Runs one of the texts that open, close or divide a transaction. */
int sqlite_tx_control(struct connection *connection, const char *sql, struct error *err);

/* Commits; `unsynced`: without waiting for the disk. */
int sqlite_tx_commit(struct connection *connection, bool unsynced, struct error *err);

/* Rolls back the open transaction, if there is still one. */
void sqlite_tx_rollback(struct connection *connection);

/* Did a failure (disk full, I/O) make SQLite itself roll back the transaction? */
bool sqlite_tx_gave_up(const struct connection *connection);

/* Runs a body in the calling thread.  A body inside a body, or rows left open, fail assertions. */
int sqlite_tx_run(struct sqlite_tx *tx, db_body *body, void *arg, struct error *err);
bool sqlite_tx_inside(void); /* of the calling thread */

/* A body that is aborted when its statements cost too much: the argument of the body
 * sqlite_tx_briefly(). */
struct sqlite_brief {
    db_body *body;
    void *arg;
    unsigned ticks; /* so far */
    bool over;      /* aborted: the body's result is void */
};
db_body sqlite_tx_briefly;

/* Runs a read-only body on the newest snapshot, which may then be kept (snapshot.h). */
int sqlite_tx_read(struct connection *connection, db_body *body, void *arg, struct error *err);
void sqlite_tx_release(struct connection *connection); /* ends a kept one */
