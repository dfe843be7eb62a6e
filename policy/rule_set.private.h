/*
 * All rules by name, built in or from files, with their references resolved.  Read-only after
 * rule_set_load().
 */
#pragma once

#include "common/error.h"
#include "policy/context.h"
#include "policy/settings.h"

struct rule_set;

int rule_set_load(const struct policy_settings *settings, struct rule_set **ret, struct error *err);
void rule_set_free(struct rule_set *set);

/* As policy_allows(). */
bool rule_set_allows(const struct rule_set *set, const char *rule, const struct context *context,
                     const struct policy_target *target);

/* The files of a directory of rules, in the order in which they are read; count, or -1 and errno
 * (ENOENT: equals empty). The entries and the list are to be freed. */
struct dirent;
int rule_set_files(const char *directory, struct dirent ***ret);
