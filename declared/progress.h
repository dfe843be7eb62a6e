/*
 * Progress of a volume's operations: percent, rate and remaining time, from its node's reports
 * (status.progress of a CStorVolume and of its config).
 *
 * The rate is the average since the first report. Times are of the wall clock: a step of it makes
 * a wrong rate and nothing else.
 */
#pragma once

#include "declared/schema.h"

#include "common/arena.h"

#include <jansson.h>
#include <stdint.h>

#define PROGRESS_MOST 16

extern const struct schema_field progress_fields[];

/* Running operations in `status`, a list in the arena; NULL: none. `before`: the previous list;
 * NULL: none. */
json_t *progress_of(struct arena *arena, const json_t *before, const json_t *status,
                    int64_t now_us);
/* The same of a replica, by its own node's `status`: the copies to it. */
json_t *progress_of_replica(struct arena *arena, const json_t *before, const char *replica,
                            const json_t *status, int64_t now_us);
