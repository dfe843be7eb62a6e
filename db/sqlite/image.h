/*
 * A new SQLite file from the image of the schema (db/schema.h): to run the statements of the schema
 * takes ten times as many instructions.
 */
#pragma once

#include <stdbool.h>

/*
 * Makes the file if nothing is there: complete and flushed before it has its name, readable by its
 * owner only.  false: it was not made; it may exist meanwhile, or the file system does not support
 * that, or is full.  The name is not flushed yet.
 */
bool sqlite_image_make(const char *path);
