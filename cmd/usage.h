/*
 * Help: commands, their subcommands and options; and suggestions for misspelt ones.
 */
#pragma once

#include "cmd/command.h"

#include <stdio.h>

void usage_print(FILE *out); /* of the program */
/* `word` NULL or "": of the whole command, with `all` options or its own ones; "db": of all with
 * that prefix.  -1: there is none. */
int usage_print_word(const struct command *command, const char *word, bool all, FILE *out);

/* On standard error, with the nearest command.  Returns the exit status. */
int usage_no_command(const char *name);
int usage_no_word(const struct command *command, const char *word);
int usage_no_format(const struct command *command, const char *format);
