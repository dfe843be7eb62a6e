/*
 * The reserve: disk space beside an SQLite file that is released when its file system is full.
 *
 * Volumes may be on the same file system, and guests fill it.  Deleting a volume frees space, but
 * the database needs space to record that: a start creates a log, a change grows it.  So a file of
 * RESERVE_BYTES is kept beside the database; it is removed when there is no space, and created
 * again, after a change and at the end, once the file system has plenty.
 *
 * Guests take released space at once.  So the log gets a part of it in the same moment, and a stop
 * without space makes a smaller reserve of what the log leaves.
 */
#pragma once

#include <stdbool.h>

enum { SQLITE_RESERVE_BYTES = 8 << 20 };

/* Creates the file unless it exists, or completes it, unless the file system has less than four
 * times its size; a partial one that may not be opened is replaced, any other failure leaves it as
 * it was.  Its owner is that of the database.  true: it is complete. */
bool sqlite_reserve_make(const char *database_path);
/* Databases have one but on a full file system, or before they were first opened. */
bool sqlite_reserve_exists(const char *database_path);
/* Without the file: creates it of the free space, of which 128 KiB are left to tools that read. */
void sqlite_reserve_make_of_rest(const char *database_path);
/* false: half of it is gone, perhaps released by another process, and is not free either. */
bool sqlite_reserve_suffices(const char *database_path);
/* true: the file existed and its space is free now. */
bool sqlite_reserve_release(const char *database_path);
/* After a release, once the log is open: allocates up to three quarters of the free space at its
 * end; a checkpoint needs the rest. */
void sqlite_reserve_space_of_log(const char *database_path);
