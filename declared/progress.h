/*
 * How far the operations of a volume are: percent, rate and remaining time, from what its node
 * reports of them (status.progress of a CStorVolume and of its config).
 *
 * The rate is that since the operation was first reported.  Instants are the ones that are shown: a
 * clock that steps makes a wrong rate and nothing else.
 */
#pragma once

#include "declared/schema.h"

#include "common/arena.h"

#include <jansson.h>
#include <stdint.h>

#define PROGRESS_MOST 16

extern const struct schema_field progress_fields[];

/* A list in the arena, of what runs in `status`; NULL: nothing does.  `before`: the list that stood
 * there; NULL: none. */
json_t *progress_of(struct arena *arena, const json_t *before, const json_t *status,
                    int64_t now_us);
/* The same of a replica, by its own node's `status`: what is copied to it. */
json_t *progress_of_replica(struct arena *arena, const json_t *before, const char *replica,
                            const json_t *status, int64_t now_us);
