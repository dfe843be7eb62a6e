/*
 * A subcommand: its name, its line of help, and the role it starts or its function.
 */
#pragma once

#include "cmd/role.h"

enum { EXIT_USAGE = 2 }; /* unknown command or argument */

struct command;

/* The access of a tool's subcommand, printed in the help. */
enum word_effect {
    WORD_PRINTS,         /* nothing but its output */
    WORD_READS_DATABASE, /* the schema must be of this program; creates nothing */
    WORD_WRITES_DATABASE,
    WORD_READS_API,
    WORD_WRITES_API,
};

/* A subcommand below a command. */
struct command_word {
    const char *name; /* "check", "db sync" */
    int (*run)(const struct config *config, bool json);
    const char *help;
    bool json; /* supports --format json */
    enum word_effect effect;
    /* In place of run(), for a subcommand with arguments: those are `words`, ended with NULL. */
    int (*run_on)(const struct config *config, const char *const *words, bool json);
    const char *more; /* its arguments, for the help: "-f FILE" */
};

struct command {
    const char *name;
    const char *help;
    struct role role; /* no parts: a tool, with the members below */
    /* `words` are the arguments that are not options, ended with NULL. Exit status. */
    int (*run)(const struct command *command, const struct config *config,
               const char *const *words);
    const struct command_word *words; /* ended with NULL; NULL: takes none */
};

extern const struct command commands[]; /* ended with a NULL name */

const struct command *command_find(const char *name); /* NULL: there is none */
