/*
 * All volume controllers of this node: one for each volume that is assigned to it or has a target
 * here.
 *
 * A volume that the API does not list goes on as it is: only its document ends its target.
 */
#pragma once

#include "replication/node/volume_controller.h"

struct targets;

struct targets *targets_new(const struct volume_controller_settings *settings);
/* Adopts running daemons, by their manifests. */
void targets_adopt(struct targets *targets);
/* Documents that name this node, or do not any more. */
void targets_set(struct targets *targets, struct assignment *const *assignments, unsigned count);
/* Number of controllers. */
unsigned targets_count(const struct targets *targets);
/* Uids of volumes with files or a daemon on this node; in the arena, ended with NULL. */
const char **targets_local_volumes(struct targets *targets, struct arena *arena);
/* Waits at most `ms`; daemons go on serving.  false: a controller is blocked and its memory is
 * kept, or an abandoned call may still change a pool: no other agent may start while this process
 * lives.  NULL is fine. */
bool targets_stop(struct targets *targets, int64_t ms);
