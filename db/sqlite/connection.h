/*
 * One connection to an SQLite database, used by one thread at a time, and the classification of its
 * failures.
 */
#pragma once

#include "db/engine.h"
#include "db/sqlite/map.h"
#include "db/sqlite/snapshot.h"

#include <sqlite3.h>
#include <sys/stat.h>

struct statement_cache;

struct connection {
    sqlite3 *handle;
    char *path;        /* as given to sqlite_open(), with links; "": in memory */
    struct stat place; /* of the file at the path when it was opened */
    bool leaves_log;   /* when it is closed: the file at the path is another one */
    struct statement_cache *statements;
    bool unsynced;          /* during a commit: it does not wait for the disk */
    bool collects;          /* during a commit: writes to the log */
    bool log_begins;        /* its header was written and not flushed yet */
    bool in_doubt;          /* a flush failed: no commit before sqlite_renew() */
    bool full;              /* a failure was for lack of space; see sqlite_make_space() */
    bool no_reserve;        /* of disk space: to be created once there is enough (reserve.h) */
    int wal_frames;         /* in the WAL after the last own commit; 0 once they are checkpointed */
    struct sqlite_map map;  /* of one that reads */
    sqlite3_io_methods log; /* of the WAL (log_flush.h), and SQLite's own */
    const sqlite3_io_methods *sqlites_log;
    uint8_t *log_bytes; /* collected: where they belong, and their number */
    sqlite3_int64 log_at;
    size_t log_size;
    struct connection *next; /* of engine.c's unused readers */

    struct snapshot snapshot; /* of one that reads */
};

struct sqlite_tx {
    struct db_tx base;
    struct connection *connection;
};

/* Called after any failed call of SQLite: its code.  A failed flush puts the log in doubt. */
int connection_note_failure(struct connection *connection);

/* Sets `err` from the last failure; returns -1. */
int connection_error(struct connection *connection, struct error *err);
