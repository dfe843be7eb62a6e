/*
 * Where the rules of a policy come from.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct policy_settings {
    /* policy.yaml, NULL: built-in rules only.  They apply, too, where the file is missing; unless
     * it is `optional`, a warning says so, and once read it must not go missing. */
    const char *file;
    bool optional;
    /* policy.d: *.yaml, *.json in alphabetical order, later wins; NULL: none */
    const char *directory;
    int64_t look_ms;           /* how often to look whether the files have changed; 0: never */
    bool enforce_new_defaults; /* false: the deprecated predecessor of an unchanged rule is OR-ed */
};
