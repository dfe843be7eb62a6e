/*
 * The language of policy rules:
 *
 *     rule  := ""  |  term { ("and" | "or") term }      "and" binds tighter; "" is always true
 *     term  := "not" term  |  "(" rule ")"  |  check
 *     check := "@"  |  "!"  |  kind ":" match           "@" true, "!" false
 *
 * Words are split at blanks; brackets stand at the start or the end of a word, so %(name)s is safe
 * inside one.
 */
#pragma once

#include "policy/check.private.h"

#define CHECK_TERMS_MOST 1000 /* of one rule, which bounds the depth of its tree */

/* ERROR_BAD_REQUEST names the fault in the text. */
const struct check *check_parse(struct arena *arena, const char *text, struct error *err);
