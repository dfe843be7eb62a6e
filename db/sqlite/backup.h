/*
 * Backup of an SQLite database before its schema is migrated.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"

#include <stdint.h>

/*
 * Copies the committed content of the database at `path` to `path`.schema-NUMBER, which replaces an
 * earlier one and is on disk when this returns.  May run while a connection of this process has the
 * write lock.  Refused if the file system has too little space.
 */
int sqlite_backup(const char *path, int64_t number, struct arena *arena, const char **ret,
                  struct error *err);
