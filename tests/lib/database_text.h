/*
 * Every row of every table as text: equal texts, nothing has changed.
 */
#pragma once

#include "common/arena.h"
#include "db/db.h"

const char *database_text(struct db *db, struct arena *arena);
