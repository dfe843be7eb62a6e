/*
 * The pools that a document names: spec.replicaPoolInfo of a policy, spec.policy.replicaPoolInfo of
 * a config.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"

#include <jansson.h>
#include <stdbool.h>

/* None stands twice (P53). `spec` is that of a policy, in normal form, called `path`. */
int pool_list_check(const json_t *spec, const char *path, struct error *err);

/* How many it names; 0: they are chosen. */
size_t pool_list_count(const json_t *spec);

bool pool_list_is_same(const json_t *before, const json_t *after);
/* In whatever order. */
bool pool_list_names_same(const json_t *one, const json_t *other);
/* May the pools of `before` become those of `after`?  Several may come at once, or one may go; none
 * is exchanged for another (P53). */
int pool_list_compare(const json_t *before, const json_t *after, const char *path,
                      struct error *err);
/* The only pool of `before` that `after` lacks, when none comes; else NULL. */
const char *pool_list_only_gone(const json_t *before, const json_t *after);

/*
 * What a list means after the service has replaced some of its pools: each of `replaced`, an object
 * {"pool-a": "pool-b"}, that the list names counts as the other, unless the list names that, too,
 * and it is not replaced itself.
 * In the arena; `spec` itself where that makes no difference.
 */
const json_t *pool_list_effective(struct arena *arena, const json_t *spec, const json_t *replaced);
/* Does the entry of this name count, which the list names? */
bool pool_list_is_replaced(const json_t *spec, const json_t *replaced, const char *name);
bool pool_list_names(const json_t *spec, const char *name);
