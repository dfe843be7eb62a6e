/*
 * The copy of an SQLite database that is made before its schema is migrated.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"

#include <stdint.h>

/*
 * Copies the committed content of the database at `path` to `path`.schema-NUMBER, which takes the
 * place of an earlier one and is on the disk when this returns.  May run while a connection of this
 * process has the write lock.  Refuses where the file system has no room for the copy.
 */
int sqlite_backup(const char *path, int64_t number, struct arena *arena, const char **ret,
                  struct error *err);
