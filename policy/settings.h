/*
 * The sources of policy rules.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct policy_settings {
    /* policy.yaml, NULL: built-in rules only.  These also apply if the file is missing; unless it
     * is `optional`, a warning is logged, and once read it must not disappear. */
    const char *file;
    bool optional;
    /* policy.d: *.yaml, *.json in alphabetical order, later wins; NULL: none */
    const char *directory;
    int64_t look_ms;           /* interval of checks for changed files; 0: never */
    bool enforce_new_defaults; /* false: the deprecated predecessor of an unchanged rule is OR-ed */
};
