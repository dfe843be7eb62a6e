/*
 * The reserve: disk space beside an SQLite file that is released when its file system is full.
 *
 * Volumes may be on the same file system, and guests fill it.  Deleting a volume frees space, but
 * the database needs space to record that: a start creates a log, a change grows it.  So a file of
 * RESERVE_BYTES is kept beside the database; it is removed when there is no space, and created
 * again, after a change and at the end, once the file system has plenty.
 */
#pragma once

#include <stdbool.h>

enum { SQLITE_RESERVE_BYTES = 8 << 20 };

/* Creates the file unless it exists or the file system has less than four times its size; a failure
 * leaves none.  true: it exists. */
bool sqlite_reserve_make(const char *database_path);
/* false: the file is gone, perhaps released by another process, and less than half of its size is
 * free. */
bool sqlite_reserve_suffices(const char *database_path);
/* true: the file existed and its space is free now. */
bool sqlite_reserve_release(const char *database_path);
