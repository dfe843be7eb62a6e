/*
 * A subcommand: its name, its line of help, its function.
 */
#pragma once

#include "common/option.h"

struct command {
    const char *name;
    const char *help;
    /* `words` are the words behind the name that are no options, ended with NULL. Exit status. */
    int (*run)(const struct config *config, const char *const *words);
    const char *listen_address, *listen_port; /* what --listen sets; NULL: it is not understood */
    const char *words; /* for the usage: "check|operations|…"; NULL: takes none */
};

extern const struct command serve_command, api_command, manager_command, compute_command,
    manage_command;
