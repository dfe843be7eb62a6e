/*
 * One connection to an SQLite database, used by one thread at a time, and what a failure of it
 * means.
 */
#pragma once

#include "db/engine.h"

#include <sqlite3.h>

struct sqlite_db;
struct statement_cache;

struct connection {
    sqlite3 *handle;
    struct statement_cache *statements;
    bool unsynced;        /* see sqlite_tx_set_unsynced() */
    bool in_doubt;        /* a flush failed: nothing may build on the log before sqlite_renew() */
    bool full;            /* a failure was for want of space; see sqlite_make_space() */
    bool no_reserve;      /* of disk space: to be made once there is enough (reserve.h) */
    int wal_frames;       /* in the WAL after our last commit; 0 once they are checkpointed */
    struct sqlite_db *db; /* the last three are for engine.c's list of readers */
    struct connection *next, *previous;
};

struct sqlite_tx {
    struct db_tx base;
    struct connection *connection;
};

/* After any call of SQLite that failed: its code. A failed flush puts the log in doubt. */
int connection_note_failure(struct connection *connection);

/* Sets `err` from the last failure; returns -1. */
int connection_error(struct connection *connection, struct error *err);
