/*
 * An SQLite file (or a database in memory): how its connections are opened and closed, and what
 * happens to its log.
 *
 * The file is in WAL mode with a flush at every commit that needs it; checkpoints are made by
 * writer.c only.  Another process may hold the write lock: the wait is 5 seconds at most.  A failed
 * flush puts the log in doubt: see log.h.
 */
#pragma once

#include "db/sqlite/tx.h"

/* A self-numbering key; no number is reused. */
#define SQLITE_SERIAL_WORDS "INTEGER PRIMARY KEY AUTOINCREMENT"

/* The path of a URL of db_settings: "" for memory.  Refuses other URLs. */
int sqlite_path(const char *url, const char **ret, struct error *err);

enum sqlite_use {
    SQLITE_WRITER,    /* may create the file and change it */
    SQLITE_READER,    /* beside a writer of this process */
    SQLITE_LOOKER,    /* of a read-only process: the file is opened read-only */
    SQLITE_UNTOUCHED, /* the same: neither it nor any file beside it is changed (untouched.h) */
};

/* `path` "" is a new database in memory. */
int sqlite_open(const char *path, enum sqlite_use use, struct connection **ret, struct error *err);
int sqlite_is_unused(const char *url, struct error *err); /* of the engine: see db_is_unused() */
void sqlite_close(struct connection *connection);

/* Copies the WAL to the file as far as readers allow, unless it is in doubt.  Its frames count
 * until all are copied.  A failure shows at a later commit. */
void sqlite_checkpoint(struct connection *connection);

/* Is the open file still that at its path?  Where a mount has come over it, say, changes would be
 * lost at the next start. */
int sqlite_check_place(const struct connection *connection, struct error *err);
/* Did both find the same file at their path? */
bool sqlite_is_same_file(const struct connection *one, const struct connection *other);

/* See db_check_space(). */
int sqlite_check_space(const struct connection *connection, struct error *err);

/* After a failure for lack of space: releases the reserve.  true: a retry may succeed. */
bool sqlite_make_space(struct connection *connection);

/* Creates a missing reserve again when the file system has space again. */
void sqlite_renew_reserve(struct connection *connection);

/* Repairs a log in doubt; -1: it still is.  Stops the process when commits that it has seen are
 * lost.  Outside a transaction. */
int sqlite_renew(struct connection *connection, struct error *err);
