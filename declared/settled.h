/*
 * Configs whose last evaluation found nothing to be done, and which only a change of their own
 * documents or of their pools can concern: a walk over all configs skips them.  Known by the
 * version of the config, which the next edit replaces.  Belongs to one thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SETTLED_KEPT 262144 /* so many are remembered; more are evaluated each time */

struct settled;

struct settled *settled_new(void);
void settled_free(struct settled *settled);

void settled_put(struct settled *settled, int64_t version, bool is_settled);
/* None is. */
void settled_clear(struct settled *settled);

/* Is this one, which the walk has met? */
bool settled_meet(struct settled *settled, int64_t version, unsigned walk);
/* Forgets versions up to `last` that this walk, which has ended, has not met. */
void settled_prune(struct settled *settled, int64_t last, unsigned walk);
