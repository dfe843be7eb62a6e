/*
 * The built-in rules: one row for each decision of the API.
 */
#pragma once

struct rule_default {
    const char *name;
    const char *text;        /* default text */
    const char *predecessor; /* default of former releases, NULL: none; see enforce_new_defaults */
    const char *description;
};

/* Both end with a NULL name. */
extern const struct rule_default rule_bases[];    /* referenced by the others */
extern const struct rule_default rule_defaults[]; /* of the API */
