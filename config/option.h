/*
 * Options: every module describes its keys in a table; the file parser, the checks, the sample
 * configuration and the option part of the man pages all come from these tables.
 *
 * Sections of backends are named by the user: each name in [DEFAULT] enabled_backends is a section
 * that takes the options whose section is OPTION_BACKEND (and those of its driver).  So are those
 * of pools: each name in [storage] enabled_pools has the options of OPTION_POOL.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define OPTION_BACKEND "backend"
#define OPTION_POOL    "pool"

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
    const char *section; /* "DEFAULT", "database", …, OPTION_BACKEND or OPTION_POOL */
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

/* Sections that are named in a list of another one. */
struct option_names {
    const char *section;    /* as the tables of options call them */
    const char *list, *key; /* the list */
    const char *what;       /* each is, to people */
    const char *place;      /* stands for its name */
};
#define OPTION_NAMES 2
extern const struct option_names option_names[OPTION_NAMES];
/* NULL: the section is called as it stands in the tables. */
const struct option_names *option_names_of(const char *section);

/* Sample configuration file (INI with help as comments), man page part (mdoc or man macros). */
void option_print_sample(const struct option *const *tables, FILE *out);
void option_print_man(const struct option *const *tables, FILE *out);
/* Lines for a terminal, as they are given on the command line: those of `sections` (ended with
 * NULL), behind them the names of the others; NULL: all. */
void option_print_usage(const struct option *const *tables, const char *const *sections, FILE *out);
