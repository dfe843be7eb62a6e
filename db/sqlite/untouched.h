/*
 * Reading a file that may be another program's: neither the file nor any beside it is changed,
 * created or removed.  Reading one in WAL mode as any other creates its log and the shared index of
 * that, or writes to them, and a read-only connection leaves them there.
 */
#pragma once

#include <stdbool.h>

/* The name by which SQLite opens the file so, read-only, for the caller to free.  *ret_alone: no
 * connection is expected to have it open; the index of its log is this connection's own with the
 * locking mode EXCLUSIVE, and the log stays only if it is not checkpointed at the end. */
char *sqlite_name_untouched(const char *path, bool *ret_alone);
