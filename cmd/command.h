/*
 * A subcommand: its name, its line of help, and the role it starts or its function.
 */
#pragma once

#include "cmd/role.h"

enum { EXIT_USAGE = 2 }; /* a command or a word that nobody understands */

struct command;

/* What a word of a tool touches; it is printed in the help. */
enum word_effect {
    WORD_PRINTS,         /* nothing but its output */
    WORD_READS_DATABASE, /* the schema must be of this program; makes nothing */
    WORD_WRITES_DATABASE,
    WORD_READS_API,
    WORD_WRITES_API,
};

/* What may stand behind the name of a command. */
struct command_word {
    const char *name; /* "check", "db sync" */
    int (*run)(const struct config *config, bool json);
    const char *help;
    bool json; /* --format json is understood */
    enum word_effect effect;
    /* Instead of run(), of a word that others follow: those are `words`, ended with NULL. */
    int (*run_on)(const struct config *config, const char *const *words, bool json);
    const char *more; /* what follows, for its help: "-f FILE" */
};

struct command {
    const char *name;
    const char *help;
    struct role role; /* no parts: a tool, which has the members below */
    /* `words` are the words behind the name that are no options, ended with NULL. Exit status. */
    int (*run)(const struct command *command, const struct config *config,
               const char *const *words);
    const struct command_word *words; /* ended with NULL; NULL: takes none */
};

extern const struct command commands[]; /* ended with a NULL name */

const struct command *command_find(const char *name); /* NULL: there is none */
