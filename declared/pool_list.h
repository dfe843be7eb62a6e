/*
 * The pools named in a document: spec.replicaPoolInfo of a policy, spec.policy.replicaPoolInfo of
 * a config.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"

#include <jansson.h>
#include <stdbool.h>

/* Refuses duplicates (P53). `spec`: of a policy, in normal form, at `path`. */
int pool_list_check(const json_t *spec, const char *path, struct error *err);

/* Number of named pools; 0: they are chosen. */
size_t pool_list_count(const json_t *spec);

bool pool_list_is_same(const json_t *before, const json_t *after);
/* In any order. */
bool pool_list_names_same(const json_t *one, const json_t *other);
/* May the pools change from `before` to `after`? Several may be added at once, or one removed; none
 * is exchanged for another (P53). */
int pool_list_compare(const json_t *before, const json_t *after, const char *path,
                      struct error *err);
/* The only pool of `before` that `after` lacks, when none is added; else NULL. */
const char *pool_list_only_gone(const json_t *before, const json_t *after);

/*
 * The list after replacements by the service: each name in `replaced`, an object {"pool-a":
 * "pool-b"}, stands for the other one, unless the list names that, too, and it is not replaced
 * itself. In the arena; `spec` itself when that makes no difference.
 */
const json_t *pool_list_effective(struct arena *arena, const json_t *spec, const json_t *replaced);
/* Is this name of the list replaced? */
bool pool_list_is_replaced(const json_t *spec, const json_t *replaced, const char *name);
bool pool_list_names(const json_t *spec, const char *name);
