/*
 * The built-in rules: one row for each decision that the API asks for.
 */
#pragma once

struct rule_default {
    const char *name;
    const char *text;        /* when no file says otherwise */
    const char *predecessor; /* text of former releases, NULL: none; see enforce_new_defaults */
    const char *description;
};

/* Both end with a NULL name. */
extern const struct rule_default rule_bases[];    /* what the others refer to */
extern const struct rule_default rule_defaults[]; /* the API's */
