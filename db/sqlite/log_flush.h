/*
 * Commits of an SQLite file: some do not wait for the disk, and all write the log at once.
 *
 * SQLite decides that by `PRAGMA synchronous`, which it compiles anew each time: two switches cost
 * as much as a small transaction.  So it stays FULL, and the log (WAL) has functions that pass
 * every call on to SQLite's own but one: the flush at the end of such a commit.  A log that begins
 * anew still has its header flushed, and a checkpoint flushes the log before the file is written,
 * as with NORMAL.
 *
 * SQLite writes two parts for each page of a commit.  They are collected, and written before the
 * flush at its end, which SQLite requests before any reader may see the commit; a failure to write
 * is that of the flush.  Outside a commit nothing is collected: what is not written yet must not
 * outlive the lock of the transaction, as another process may write the same place then.
 */
#pragma once

#include "db/sqlite/connection.h"

/* Of a connection that writes a file in WAL mode and had a transaction, which opens the log.
 * Without effect where SQLite has a later version of these functions. */
int sqlite_log_flush_begin(struct connection *connection, struct error *err);

/* Around each COMMIT; `done`: it succeeded. */
void sqlite_log_commit_begin(struct connection *connection, bool unsynced);
void sqlite_log_commit_end(struct connection *connection, bool done);
