/*
 * Scheduler hint "query": a condition on the pool of a new volume, as a term in JSON in the syntax
 * of upstream's JsonFilter:
 *
 *     ["and", [">=", "$free_capacity_gb", 100], ["in", "$host", "node@backend#pool", ...]]
 *
 * Operators are =, <, >, <=, >=, in, not, and, or. $host and $backend_id are the pool's name, any
 * other $KEY the value in the pool's report, $capabilities.KEY too.  Missing values are left out of
 * the comparison, and one of fewer than two is false.
 */
#pragma once

#include "model/scheduler/pool.h"

/* The term of a hint's value, in the arena; NULL: no condition, as for an empty one.
 * ERROR_BAD_REQUEST: it is no term. */
int placement_query_read(struct work *work, const json_t *value, const json_t **ret,
                         struct error *err);
/* `term` may be NULL. */
bool placement_query_allows(struct work *work, const json_t *term, const struct pool *pool);
