/*
 * Files of policy rules: YAML (and so JSON), one mapping of names to rules; a rule is a text or the
 * old list form (a list of alternatives, each a check or a list of checks that must all hold).
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"

struct check;

struct rule_entry {
    const char *name;
    const struct check *check;
    const char *file;
    unsigned line;
    struct rule_entry *next; /* in the order of the file */
};

/* Everything lives in the arena.  A missing file is an empty one when `optional`. ERROR_BAD_REQUEST
 * names file, line and rule; another kind: the file cannot be read now. */
int rule_file_read(struct arena *arena, const char *path, bool optional, struct rule_entry **ret,
                   struct error *err);
