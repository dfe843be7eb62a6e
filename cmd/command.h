/*
 * A subcommand: its name, its line of help, its function.
 */
#pragma once

#include "config/option.h"

enum { EXIT_USAGE = 2 }; /* a command or a word that nobody understands */

/* What may stand behind the name of a command. */
struct command_word {
    const char *name; /* "check", "db sync" */
    int (*run)(const struct config *config, bool json);
    const char *help;
    bool json; /* --format json is understood */
};

struct command {
    const char *name;
    const char *help;
    /* `words` are the words behind the name that are no options, ended with NULL. Exit status. */
    int (*run)(const struct config *config, const char *const *words);
    const char *listen_address, *listen_port; /* what --listen sets; NULL: it is not understood */
    const struct command_word *words;         /* ended with NULL; NULL: takes none */
};

extern const struct command serve_command, api_command, manager_command, compute_command,
    manage_command;
