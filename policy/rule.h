/*
 * Policy: the language of oslo.policy, its files and the built-in default of every rule of the API.
 *
 * Grammar and checks are those of oslo.policy (and/or/not, parentheses, @ and !, role:, rule:,
 * attribute comparisons, %(name)s from the target). A rule that does not parse is refused at start
 * with file, line and name; so are loops and references to unknown rules.  Changed files are read
 * again at the next evaluation, and until they can be read; while they are invalid the previous
 * rules apply, and the log has the reason.  Thread-safe.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"
#include "config/option.h"
#include "policy/context.h"
#include "policy/settings.h"

#include <stdio.h>

struct policy;

/* [oslo_policy] policy_file, enforce_new_defaults, … */
extern const struct option policy_options[];

int policy_load(const struct policy_settings *settings, struct policy **ret, struct error *err);
void policy_free(struct policy *policy); /* NULL is fine */

/* `target` NULL: the caller's own project and user.  Unknown rules are false. */
bool policy_allows(const struct policy *policy, const char *rule, const struct context *context,
                   const struct policy_target *target);

/* The same for several rules of the same moment: a bit for each, from the lowest on. */
#define POLICY_RULES_MOST 32
unsigned policy_allows_each(const struct policy *policy, const char *const *rules, unsigned count,
                            const struct context *context, const struct policy_target *target);

/* policy_allows(), or ERROR_FORBIDDEN naming the rule. */
int policy_enforce(const struct policy *policy, const char *rule, const struct context *context,
                   const struct policy_target *target, struct error *err);

/* Every rule with default text and description, as policy.yaml with comments. */
void policy_print_sample(FILE *out);
