/*
 * The checks of policy rules: a tree is built once (check_parse.private.h) and evaluated without
 * allocation.  %(name)s in a match is an attribute of the target; if the target has none the check
 * is false.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"
#include "policy/context.h"

struct check;

/* The input of an evaluation. */
struct check_question {
    const struct context *context;
    const struct policy_target *target;
};

/* Trees live in the arena.  A single check, in the form of a rule's text and of the old list form:
 * ERROR_BAD_REQUEST names the fault; `http:` checks are refused, because no rule may wait for
 * another service. */
const struct check *check_word(struct arena *arena, const char *word, struct error *err);
const struct check *check_any(struct arena *arena, const struct check *left,
                              const struct check *right); /* NULL left: right */
const struct check *check_all(struct arena *arena, const struct check *left,
                              const struct check *right);
const struct check *check_not(struct arena *arena, const struct check *left);
const struct check *check_constant(bool value);
/* NULL, with "reason: 'what'" in err. */
const struct check *check_refuse(struct error *err, const char *reason, const char *what);

/* Upper bound of the cost of an evaluation, including the referenced rules. */
struct check_cost {
    unsigned depth; /* of nested calls */
    int64_t checks; /* evaluated; a rule referenced twice counts twice */
};

/*
 * Calls resolve() for every "rule:name" of the tree, which is `above` levels deep: it returns the
 * named rule's tree and cost, or NULL with err set.  0 with the total cost, or -1. resolve()
 * refuses an excessive `above`: there is no other limit of the depth.
 */
typedef const struct check *check_resolver(void *arg, const char *name, unsigned above,
                                           struct check_cost *ret, struct error *err);
int check_resolve(const struct check *check, unsigned above, check_resolver *resolve, void *arg,
                  struct check_cost *ret, struct error *err);

bool check_is_true(const struct check *check, const struct check_question *question);
