/*
 * At which node snapshots of a volume can be taken: a target makes copies beside those replicas
 * alone that are files of its own node, and needs as many as the volume needs to be written.
 *
 * A replica of another node whose pool has no address is reached by its path, as if it were one's
 * own.
 */
#pragma once

#include "common/arena.h"

#include <jansson.h>
#include <stdbool.h>

/* `volume`: spec of a CStorVolume. */
bool snapshot_node_can(const json_t *volume, const char *node);
/* Why none is taken of it where it is published ("": nowhere), in the middle of a sentence; NULL:
 * nothing is in the way. */
const char *snapshot_node_obstacle(struct arena *arena, const json_t *volume,
                                   const char *published);
