/*
 * What the program says of itself: its commands, the words and options of one, and the word that
 * somebody may have meant.
 */
#pragma once

#include "cmd/command.h"

#include <stdio.h>

void usage_print(FILE *out); /* of the program */
/* `word` NULL or "": of the whole command, with `all` options or those of its own; "db": of all
 * that begin so. -1: it has none like it. */
int usage_print_word(const struct command *command, const char *word, bool all, FILE *out);

/* On standard error, with the nearest right one. The status to end with. */
int usage_no_command(const char *name);
int usage_no_word(const struct command *command, const char *word);
int usage_no_format(const struct command *command, const char *format);
