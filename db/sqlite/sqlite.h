/*
 * One connection to an SQLite file (or to a database in memory): what engine.c and writer.c
 * need beside the statements of db.h.  A connection is used by one thread at a time; transactions
 * are opened here and nowhere else.
 *
 * The file is in WAL mode with a flush at every commit that asks for it, and nothing is
 * checkpointed behind our back: writer.c says when.  Another process may hold the write lock: we
 * wait for it up to 5 seconds.  A flush that failed puts the log in doubt: see log.h.
 */
#pragma once

#include "db/engine.h"
#include "db/statement.h"

#include <sqlite3.h>

struct sqlite_db;

struct connection {
    sqlite3 *handle;
    struct statement_cache statements;
    bool unsynced;        /* see sqlite_set_unsynced() */
    bool in_doubt;        /* a flush failed: nothing may build on the log before sqlite_renew() */
    int wal_frames;       /* in the WAL after our last commit; 0 once they are checkpointed */
    struct sqlite_db *db; /* the last three are for engine.c's list of readers */
    struct connection *next, *previous;
};

struct sqlite_tx {
    struct db_tx base;
    struct connection *connection;
};

/* The path of a URL of db_settings: "" for memory. Refuses what is no such URL. */
int sqlite_path(const char *url, const char **ret, struct error *err);

/* `path` "" is a new database in memory. Only the writer may make the file or change it. */
int sqlite_open(const char *path, bool writer, struct connection **ret, struct error *err);
int sqlite_alone(const char *url, struct error *err); /* see db_alone() */
void sqlite_close(struct connection *connection);

/* Runs one of the texts that open, close or divide a transaction. */
int sqlite_control(struct connection *connection, const char *sql, struct error *err);

/* Whether commits from now on wait for the disk; at first they do. Not inside a transaction. */
int sqlite_set_unsynced(struct connection *connection, bool unsynced, struct error *err);

/* Ends the open transaction without its changes, if there is still one. */
void sqlite_rollback(struct connection *connection);

/* Did a failure (disk full, I/O) make SQLite itself give the transaction up? */
bool sqlite_gave_up(const struct connection *connection);

/* Copies what the WAL holds to the file as far as readers let it, unless it is in doubt. A failure
 * shows at a later commit. */
void sqlite_checkpoint(struct connection *connection);

/* Makes a log that is in doubt good again; -1: it still is. Stops the process when commits that it
 * has seen are lost. Outside a transaction. */
int sqlite_renew(struct connection *connection, struct error *err);

/* Sets `err` from the last failure of the connection. */
int sqlite_error(struct connection *connection, struct error *err);

/* Runs a body in the calling thread. A body inside a body, or rows left open, are bugs: asserts. */
int sqlite_run_body(struct sqlite_tx *tx, db_body *body, void *arg, struct error *err);
bool sqlite_inside_body(void); /* of the calling thread */

/* Runs a body that only reads on one snapshot. */
int sqlite_read(struct connection *connection, db_body *body, void *arg, struct error *err);
