/*
 * The reserve: space beside an SQLite file that is given up when its file system is full.
 *
 * Volumes may lie on the same file system, and guests fill it.  Deleting a volume is the way out,
 * and the database needs space to record that: a start makes a new log, a change grows it.  So a
 * file of RESERVE_BYTES is kept beside the database; it is removed when there is no space, and made
 * again, behind a checkpoint, once the file system has plenty.
 */
#pragma once

#include <stdbool.h>

enum { SQLITE_RESERVE_BYTES = 8 << 20 };

/* Makes the file unless it is there or the file system has less than four times its size; a failure
 * leaves none.  true: it is there. */
bool sqlite_reserve_make(const char *database_path);
/* true: the file was there and its space is free now. */
bool sqlite_reserve_release(const char *database_path);
