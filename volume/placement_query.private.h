/*
 * Scheduler hint "query": which pools a new volume may be in, as a term in JSON that is asked of
 * each, in the words of upstream's JsonFilter:
 *
 *     ["and", [">=", "$free_capacity_gb", 100], ["in", "$host", "node@backend#pool", ...]]
 *
 * Operators are =, <, >, <=, >=, in, not, and, or.  $host and $backend_id are the pool's name, any
 * other $KEY what the pool reports under it, $capabilities.KEY too.  What it does not report is
 * left out of the comparison, and one of fewer than two is false.
 */
#pragma once

#include "volume/pool.h"

/* The term of a hint's value, in the arena; NULL: it asks for nothing, as an empty one does.
 * ERROR_BAD_REQUEST: it is no term. */
int placement_query_read(struct work *work, const json_t *value, const json_t **ret,
                         struct error *err);
/* `term` may be NULL. */
bool placement_query_allows(struct work *work, const json_t *term, const struct pool *pool);
