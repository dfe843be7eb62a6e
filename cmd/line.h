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

/* Options of the configuration have no hyphen: one that has it is no option, and the nearest one of
 * the command is named. */
int line_check(const struct command *command, const struct line *line, struct error *err);

/* All of it lives in the arena. */
int line_read(struct arena *arena, const struct command *command, int count,
              const char *const *arguments, struct line *ret, struct error *err);
