/*
 * Nodes that can take snapshots of a volume: a target copies only those replicas that are files of
 * its own node, and needs as many as a write needs.
 *
 * A replica of another node whose pool has no address is accessed by its path, like a local one.
 */
#pragma once

#include "common/arena.h"

#include <jansson.h>
#include <stdbool.h>

/* `volume`: spec of a CStorVolume. */
bool snapshot_node_can(const json_t *volume, const char *node);
/* Why none can be taken where it is published ("": nowhere), as a part of a sentence; NULL: it can. */
const char *snapshot_node_obstacle(struct arena *arena, const json_t *volume,
                                   const char *published);
