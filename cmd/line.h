/*
 * The arguments after a command: options of the configuration, and words.
 */
#pragma once

#include "cmd/command.h"
#include "common/error.h"

struct arena;

/* Read without --config-file, if it exists. */
#define DEFAULT_FILE SYSCONFDIR "/scoria/scoria.conf"

struct line {
    const char **options; /* --key=value, ended with NULL */
    unsigned option_count;
    const char **words; /* the others, ended with NULL */
    unsigned word_count;
    const char *file; /* absolute; NULL: absent */
};

struct line_reader;

/* An option of a command beside those of the configuration. */
struct line_option {
    const char *name;  /* "--file" */
    const char *value; /* its value, for the help; NULL: none */
    const char *help;  /* lines after the first are indented like it */
    const char *brief; /* short name, "-f"; or NULL */
    /* Of a tool: the subcommands with this option, separated by commas, or a prefix of them; NULL:
     * any. */
    const char *words;
    bool (*behind)(const struct command_word *word);
    bool (*of)(const struct role *role); /* the commands that have it */
    int (*read)(struct line_reader *reader, const struct line_option *option, const char *value);
};

extern const struct line_option line_options[]; /* ended with a NULL name */

/* Is it an option of the command, or of this subcommand?  NULL: without one. */
bool line_option_is_of(const struct line_option *option, const struct command *command,
                       const struct command_word *word);

/* Options of the configuration have no hyphen: a name with one is unknown, and the error has the
 * nearest option of the command. */
int line_check(const struct command *command, const struct line *line, struct error *err);

/* Everything lives in the arena. */
int line_read(struct arena *arena, const struct command *command, int count,
              const char *const *arguments, struct line *ret, struct error *err);
