/*
 * A condition on a document to wait for, as in `scoria manage wait --for` and kubectl.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"

#include <jansson.h>
#include <stdbool.h>

enum awaited_kind { AWAITED_PHASE, AWAITED_CONDITION, AWAITED_MEMBER, AWAITED_DELETE };

struct awaited {
    enum awaited_kind kind;
    const char *what;  /* a phase, the type of a condition, or a path ".status.phase" */
    const char *value; /* of a condition or a member */
};

/* Parses "phase=…", "condition=TYPE[=STATUS]", "jsonpath={.PATH}=VALUE", "delete". */
int awaited_read(struct arena *arena, const char *text, struct awaited *ret, struct error *err);
bool awaited_is_met(const struct awaited *awaited, const json_t *document); /* NULL: deleted */
const char *awaited_text(struct arena *arena, const struct awaited *awaited);

/* NULL: it has none of that type; NULL for a type: the last of all. */
const json_t *awaited_condition(const json_t *document, const char *type);
