/*
 * All controllers of this node: one for each volume that is to have its target here, or has one.
 *
 * What the API does not name goes on as it did: only a document that says so ends a target.
 */
#pragma once

#include "replication/node/volume_controller.h"

struct targets;

struct targets *targets_new(const struct volume_controller_settings *settings);
/* Daemons that run here since before go on being watched, as the documents beside them say. */
void targets_adopt(struct targets *targets);
/* Those that name this node, or name it no more. */
void targets_set(struct targets *targets, struct assignment *const *assignments, unsigned count);
/* That are kept at the moment. */
unsigned targets_count(const struct targets *targets);
/* The uids of volumes that something is left of here; in the arena, ended with NULL. */
const char **targets_local_volumes(struct targets *targets, struct arena *arena);
/* Daemons serve on.  Within `ms`; false: one hangs, and what it uses is left, or something was left
 * in a pool that may be changed yet: nobody is to come behind us as long as this process lives.
 * NULL is fine. */
bool targets_stop(struct targets *targets, int64_t ms);
