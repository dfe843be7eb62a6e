/*
 * Callers without the rights of an administrator, in a world: the user that a token names is its
 * role ("stranger:<project>", "reader:…", "member:…", "service:…", "admin:…"), each with the lesser
 * ones, but for a stranger, whose role is unknown to every rule.  Any other user has no valid
 * token.
 */
#pragma once

#include "tests/lib/world.h"

struct identity;
extern const struct identity identity_roles;

/* Until the world's end; `rules` is the text of a policy file, or NULL for the built-in rules. */
void roles_enter(struct world *world, const char *rules);
/* The same where former releases' rules count, too, unless enforce_new_defaults. */
void roles_enter_with(struct world *world, const char *rules, bool enforce_new_defaults);

/* The roles of the user "granted" from now on, ended with NULL. */
void roles_grant(const char *const *roles);
