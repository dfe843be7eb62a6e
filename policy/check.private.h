/*
 * The checks of policy rules: a tree is built once (check_parse.private.h) and answers without
 * allocating.  %(name)s in a match is the target's; when the target has none the check is false.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"
#include "policy/context.h"

struct check;

/* What a tree is asked about. */
struct check_question {
    const struct context *context;
    const struct policy_target *target;
};

/* Trees live in the arena.  A single check, as a rule's text and the old list form have them:
 * ERROR_BAD_REQUEST says what is wrong with it; `http:` checks are refused, because no rule may
 * wait for another service. */
const struct check *check_word(struct arena *arena, const char *word, struct error *err);
const struct check *check_any(struct arena *arena, const struct check *left,
                              const struct check *right); /* NULL left: right */
const struct check *check_all(struct arena *arena, const struct check *left,
                              const struct check *right);
const struct check *check_not(struct arena *arena, const struct check *left);
const struct check *check_constant(bool value);
/* NULL, and err says "reason: 'what'". */
const struct check *check_refuse(struct error *err, const char *reason, const char *what);

/* What a question costs at most, with all that a tree refers to. */
struct check_weight {
    unsigned depth; /* of nested calls */
    int64_t checks; /* asked; a rule that two others lead to counts twice */
};

/*
 * Calls resolve() for every "rule:name" of the tree, which stands `above` levels deep: it gives the
 * named rule's tree and weight, or NULL with err set.  0 with the weight of the whole, or -1.
 * resolve() refuses when `above` is too much: nothing else bounds how deep this goes.
 */
typedef const struct check *check_resolver(void *arg, const char *name, unsigned above,
                                           struct check_weight *ret, struct error *err);
int check_resolve(const struct check *check, unsigned above, check_resolver *resolve, void *arg,
                  struct check_weight *ret, struct error *err);

bool check_is_true(const struct check *check, const struct check_question *question);
