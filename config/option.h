/*
 * Options: every module describes its keys in a table; the file parser, the checks, the sample
 * configuration and the option part of the man pages all come from these tables.
 *
 * Sections of backends are named by the user: each name in [DEFAULT] enabled_backends is a section
 * that takes the options whose section is OPTION_BACKEND (and those of its driver).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define OPTION_BACKEND "backend"

enum option_type {
    OPTION_TYPE_END,
    OPTION_TEXT,
    OPTION_INT, /* min…max */
    OPTION_FLOAT,
    OPTION_BOOL,
    OPTION_WORD,    /* one of `words` */
    OPTION_LIST,    /* comma separated */
    OPTION_SECONDS, /* like OPTION_INT */
};

struct option {
    const char *section; /* "DEFAULT", "database", …, or OPTION_BACKEND */
    const char *key;
    enum option_type type;
    const char *fallback; /* value when nobody gives one; NULL = unset */
    int64_t min, max;     /* equal: any (seconds: none below 0) */
    const char *const *words;
    const char *help; /* whole sentences */
    bool secret;      /* never printed */
};
/* clang-format off */
#define OPTIONS_END { .type = OPTION_TYPE_END }
/* clang-format on */

/* Sample configuration file (INI with help as comments), man page part (mdoc or man macros). */
void option_print_sample(const struct option *const *tables, FILE *out);
void option_print_man(const struct option *const *tables, FILE *out);
/* Lines for a terminal, as they are given on the command line. */
void option_print_usage(const struct option *const *tables, FILE *out);
