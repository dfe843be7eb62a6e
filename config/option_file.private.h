/*
 * The lines of a configuration file, syntax only: [section], key = value (or key: value), comments
 * that begin with '#' or ';'.  A value is one line, taken as it stands behind its blanks: no
 * quotes, no comment behind it, no continuation.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"

struct option_line {
    struct option_line *next;
    const char *place; /* path:number */
    const char *section;
    const char *key; /* NULL: the section's own line */
    const char *value;
};

/* Lines in their order, in the arena.  ERROR_BAD_REQUEST names file, line and reason. */
int option_file_read(struct arena *arena, const char *path, struct option_line **ret,
                     struct error *err);
