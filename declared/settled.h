/*
 * Settled configs: their last evaluation found nothing to do, and only a change of their own
 * documents or of their pools can require another. A walk over all configs skips them. Identified
 * by the config's version, which the next edit replaces. Belongs to one thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SETTLED_KEPT 262144 /* limit of remembered configs; others are evaluated in each walk */

struct settled;

struct settled *settled_new(void);
void settled_free(struct settled *settled);

void settled_put(struct settled *settled, int64_t version, bool is_settled);
/* Forgets all. */
void settled_clear(struct settled *settled);

/* Is this one settled? Marks it as met by the walk. */
bool settled_meet(struct settled *settled, int64_t version, unsigned walk);
/* Forgets versions up to `last` that this completed walk has not met. */
void settled_prune(struct settled *settled, int64_t last, unsigned walk);
