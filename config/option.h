/*
 * Options: every module describes its keys in a table.  The parser, the checks, the sample
 * configuration and the option part of the man pages use these tables.
 *
 * Sections of backends are named by the user: each name in [DEFAULT] enabled_backends is a section
 * that takes the options whose section is OPTION_BACKEND (and those of its driver). The same holds
 * for pools: each name in [storage] enabled_pools has the options of OPTION_POOL.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define OPTION_BACKEND "backend"
#define OPTION_POOL    "pool"

enum { OPTION_HOST_MOST = 200 };

enum option_type {
    OPTION_TYPE_END,
    OPTION_TEXT,
    OPTION_INT, /* min…max */
    OPTION_FLOAT,
    OPTION_BOOL,
    OPTION_WORD,    /* one of `words` */
    OPTION_LIST,    /* comma separated */
    OPTION_SECONDS, /* like OPTION_INT */
    OPTION_HOST,    /* a name of OPTION_HOST_MOST characters that the API accepts for a host */
};

/* The C type of the member that an option fills. */
enum option_member {
    OPTION_NO_MEMBER,
    OPTION_MEMBER_BOOL,
    OPTION_MEMBER_INT, /* also unsigned */
    OPTION_MEMBER_INT64,
    OPTION_MEMBER_DOUBLE,
    OPTION_MEMBER_TEXT,
};

/* In a row: config_fill() writes the value to this member of the settings. */
#define OPTION_FILLS(type_, member_) \
    .offset = offsetof(type_, member_),                                                      \
    .member = _Generic(((type_ *)0)->member_, bool: OPTION_MEMBER_BOOL,                      \
                       int: OPTION_MEMBER_INT, unsigned: OPTION_MEMBER_INT,                  \
                       int64_t: OPTION_MEMBER_INT64, uint64_t: OPTION_MEMBER_INT64,          \
                       double: OPTION_MEMBER_DOUBLE, const char *: OPTION_MEMBER_TEXT)

struct option {
    const char *section; /* "DEFAULT", "database", …, OPTION_BACKEND or OPTION_POOL */
    const char *key;
    enum option_type type;
    const char *fallback; /* default value; NULL: unset */
    int64_t min, max;     /* equal: unlimited (seconds: not negative) */
    const char *const *words;
    const char *help;          /* whole sentences */
    bool secret;               /* never printed */
    enum option_member member; /* with its offset: OPTION_FILLS() */
    size_t offset;
    int64_t unit; /* of an integer: the member is the value times this; 0: 1 */
};
/* clang-format off */
#define OPTIONS_END { .type = OPTION_TYPE_END }
/* clang-format on */

/* Sections whose names are listed by an option of another section. */
struct option_names {
    const char *section;    /* its name in the tables of options */
    const char *list, *key; /* the option with the list */
    const char *what;       /* the noun in messages */
    const char *place;      /* stands for the name in documents */
};
#define OPTION_NAMES 2
extern const struct option_names option_names[OPTION_NAMES];
/* NULL: the section's name is the one in the tables. */
const struct option_names *option_names_of(const char *section);

/* Sample configuration file (INI with help as comments), man page part (mdoc or man macros). */
void option_print_sample(const struct option *const *tables, FILE *out);
void option_print_man(const struct option *const *tables, FILE *out);
/* Lines for a terminal, in the form of the command line: those of `sections` (ended with NULL),
 * followed by the names of the others; NULL: all. */
void option_print_usage(const struct option *const *tables, const char *const *sections, FILE *out);
