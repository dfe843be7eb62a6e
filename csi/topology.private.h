/*
 * Topology: from which nodes a volume can be reached, in segments host and zone.
 *
 * Option topology of both halves names those that count, and on a node says what they are there.
 * Their keys are "topology.DRIVER/host" and "topology.DRIVER/zone".  A volume in a directory of one
 * machine is reached from the node of that name, any other from all nodes of its zone; which of
 * them it is, its pool says.  So whoever has host among them may ask for pools (an administrator).
 */
#pragma once

#include "client/pools.h"
#include "client/volumes.h"
#include "csi/driver.private.h"

/* The segments of this node, in the arena; NULL: none. */
Csi__V1__Topology *topology_of_node(const struct csi_driver *driver, struct arena *arena,
                                    const char *node_id);

/* Where volumes may be, as far as the segments that count need it. */
struct places {
    const struct csi_driver *driver;
    struct remote_pool *pools; /* that take volumes of the type that was asked for */
    unsigned count;
    bool known; /* the API has told its pools */
};
/* -1 failed. */
int places_read(const struct grpc_call *call, const struct client *api, const char *type,
                struct places *ret, struct error *err);

/* Adds the room of pools whose volumes are reached from there. */
void places_room(const struct places *places, const Csi__V1__Topology *topology,
                 struct remote_room *room);
/* Asks for a zone and pools that fit what is preferred, or required: GRPC_RESOURCE_EXHAUSTED. */
int places_choose(const struct places *places, struct arena *arena,
                  const Csi__V1__TopologyRequirement *wanted, struct remote_volume_new *volume,
                  struct error *err);
/* Is it where it was to be? */
bool places_suit(const struct places *places, const Csi__V1__TopologyRequirement *wanted,
                 const struct remote_volume *volume);
/* From where it can be reached. */
void places_tell(const struct places *places, struct arena *arena,
                 const struct remote_volume *volume, Csi__V1__Volume *shown);
