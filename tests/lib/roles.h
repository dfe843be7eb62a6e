/*
 * Callers who are no administrators, in a world: the user that a token names is its role
 * ("stranger:<project>", "reader:…", "member:…", "service:…", "admin:…"), each with the lesser ones,
 * but for a stranger, whose role nobody knows.  Any other user has no token that counts.
 */
#pragma once

#include "tests/lib/world.h"

struct identity;
extern const struct identity identity_roles;

/* Until the world's end; `rules` is the text of a policy file, or NULL for the built-in rules. */
void roles_enter(struct world *world, const char *rules);
