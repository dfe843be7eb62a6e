/*
 * The command line behind a command: which of its words are options of the configuration, and which
 * say what to do.
 */
#pragma once

#include "cmd/command.h"
#include "common/error.h"

struct arena;

struct line {
    const char **options; /* --key=value, ended with NULL */
    unsigned option_count;
    const char **words; /* the others, ended with NULL */
    unsigned word_count;
    const char *file; /* absolute; NULL: not said */
};

/* All of it lives in the arena. */
int line_read(struct arena *arena, const struct command *command, int count,
              const char *const *arguments, struct line *ret, struct error *err);
