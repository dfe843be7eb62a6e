/*
 * The log (WAL) of an SQLite file, made good again after a flush that failed.
 *
 * The kernel forgets the pages that it could not write: the next flush says that all is well, and
 * what is committed behind the hole is lost with the power.  It is whole in memory as a rule, so it
 * is read and written once more, byte for byte, and flushed; only then the log is known good.  What
 * stands in it behind the last commit, such as the transaction whose flush failed, is cut off: it
 * was answered with a failure and must not come back.
 *
 * Every process does so when its own flush fails (the kernel tells each one that had the file open)
 * and when it opens the file, for the one before may have died with the hole in its log.
 */
#pragma once

#include "db/sqlite/tx.h"

enum { SQLITE_LOG_LOST = 1 };

/* 0: all that is committed is on disk.  -1: not yet, ask again.  SQLITE_LOG_LOST: commits that were
 * seen are gone from the log for good; none of them had been flushed.  Outside a transaction. */
int sqlite_log_renew(struct connection *connection, struct error *err);

/* Flushes the directory of the file: a log whose name is lost is lost whole. */
int sqlite_log_keep_name(const char *path, struct error *err);
