/*
 * An SQLite file (or a database in memory): how a connection to it is opened and closed, and what
 * becomes of its log.
 *
 * The file is in WAL mode with a flush at every commit that asks for it, and nothing is
 * checkpointed behind our back: writer.c says when.  Another process may hold the write lock: we
 * wait for it up to 5 seconds.  A flush that failed puts the log in doubt: see log.h.
 */
#pragma once

#include "db/sqlite/tx.h"

/* The path of a URL of db_settings: "" for memory. Refuses what is no such URL. */
int sqlite_path(const char *url, const char **ret, struct error *err);

enum sqlite_use {
    SQLITE_WRITER, /* alone may make the file and change it */
    SQLITE_READER, /* beside a writer of this process */
    SQLITE_LOOKER, /* of a process that only reads: the file is opened read-only */
};

/* `path` "" is a new database in memory. */
int sqlite_open(const char *path, enum sqlite_use use, struct connection **ret, struct error *err);
int sqlite_alone(const char *url, struct error *err); /* of the engine: see db_alone() */
void sqlite_close(struct connection *connection);

/* Copies what the WAL holds to the file as far as readers let it, unless it is in doubt. A failure
 * shows at a later commit. */
void sqlite_checkpoint(struct connection *connection);

/* After a failure for want of space: gives up the reserve.  true: worth trying again. */
bool sqlite_make_space(struct connection *connection);

/* Makes a log that is in doubt good again; -1: it still is. Stops the process when commits that it
 * has seen are lost. Outside a transaction. */
int sqlite_renew(struct connection *connection, struct error *err);
