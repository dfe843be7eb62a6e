/*
 * The command line behind a command: which of its words are options of the configuration, and which
 * say what to do.
 */
#pragma once

#include "cmd/command.h"
#include "common/error.h"

struct arena;

/* What is read without --config-file, if it is there. */
#define DEFAULT_FILE SYSCONFDIR "/scoria/scoria.conf"

struct line {
    const char **options; /* --key=value, ended with NULL */
    unsigned option_count;
    const char **words; /* the others, ended with NULL */
    unsigned word_count;
    const char *file; /* absolute; NULL: not said */
};

struct line_reader;

/* What a command understands beside the options of the configuration. */
struct line_option {
    const char *name;  /* "--file" */
    const char *value; /* what stands behind it, for the help; NULL: nothing does */
    const char *help;  /* the second line and those behind it begin where the first does */
    const char *brief; /* another name, "-f"; or NULL */
    /* Of a tool: its words that understand it, with commas, or what tells them; NULL: any. */
    const char *words;
    bool (*behind)(const struct command_word *word);
    bool (*of)(const struct role *role); /* the commands that have it */
    int (*read)(struct line_reader *reader, const struct line_option *option, const char *value);
};

extern const struct line_option line_options[]; /* ended with a NULL name */

/* Is it one of the command's, behind this word of its?  NULL: behind none. */
bool line_option_is_of(const struct line_option *option, const struct command *command,
                       const struct command_word *word);

/* Options of the configuration have no hyphen: one that has it is no option, and the nearest one of
 * the command is named. */
int line_check(const struct command *command, const struct line *line, struct error *err);

/* All of it lives in the arena. */
int line_read(struct arena *arena, const struct command *command, int count,
              const char *const *arguments, struct line *ret, struct error *err);
