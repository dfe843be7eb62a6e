/*
 * Files that no connection has open.  Reading one as any other creates a log and its shared index
 * beside it, which a read-only connection leaves there: a file that may be another program's is
 * read without, and as it is.
 */
#pragma once

#include <stdbool.h>

/* It is in WAL mode and has no log: no connection has it open, of this process neither, and nothing
 * is missing in it. */
bool sqlite_is_at_rest(const char *path);

/* The name by which SQLite opens such a file, for the caller to free: no other program may change
 * it meanwhile. */
char *sqlite_name_at_rest(const char *path);
