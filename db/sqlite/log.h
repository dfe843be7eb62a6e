/*
 * Repairs the log (WAL) of an SQLite file after a failed flush.
 *
 * The kernel drops the pages that it could not write: the next flush reports success, and commits
 * after the hole are lost with the power.  The pages are usually still in memory, so the log is
 * read and written once more, byte for byte, and flushed; only then it is trusted again.  Frames
 * after the last commit, such as the transaction whose flush failed, are cut off: it was reported
 * as failed and must not reappear.
 *
 * Every process does so when its own flush fails (the kernel reports it to each one that had the
 * file open) and when it opens the file, for its predecessor may have died with a hole in the log.
 */
#pragma once

#include "db/sqlite/tx.h"

enum { SQLITE_LOG_LOST = 1 };

/* 0: all commits are on disk.  -1: not yet, retry.  SQLITE_LOG_LOST: commits that were seen are
 * gone from the log for good; none of them had been flushed.  Outside a transaction. */
int sqlite_log_renew(struct connection *connection, struct error *err);

/* Flushes the directory of the file: without its directory entry the whole log is lost. */
int sqlite_log_keep_name(const char *path, struct error *err);
