/*
 * The lines of a configuration file, syntax only: [section], key = value (or key: value), comments
 * starting with '#' or ';'. A value is the rest of its line, trimmed: no quotes, no trailing
 * comment, no continuation.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"

struct option_line {
    struct option_line *next;
    const char *place; /* path:number */
    const char *section;
    const char *key; /* NULL: a section line */
    const char *value;
};

/* The lines in order, in the arena.  ERROR_BAD_REQUEST names file, line and reason. */
int option_file_read(struct arena *arena, const char *path, struct option_line **ret,
                     struct error *err);
