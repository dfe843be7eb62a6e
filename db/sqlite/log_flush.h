/*
 * Commits of an SQLite file that do not wait for the disk.
 *
 * SQLite decides that by `PRAGMA synchronous`, which it compiles anew each time: two switches cost
 * as much as a small transaction.  So it stays FULL, and the log (WAL) has functions that pass
 * every call on to SQLite's own but one: the flush at the end of such a commit.  A log that begins
 * anew still has its header flushed, and a checkpoint flushes the log before the file is written,
 * as with NORMAL.
 */
#pragma once

#include "db/sqlite/connection.h"

/* Of a connection that writes a file in WAL mode and had a transaction, which opens the log.
 * Without effect where SQLite has a later version of these functions. */
int sqlite_log_flush_begin(struct connection *connection, struct error *err);
