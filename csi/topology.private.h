/*
 * Topology: the nodes that can access a volume, as segments host and zone.
 *
 * Option topology of both services names the segments in use, and gives their values on a node.
 * The keys are "topology.DRIVER/host" and "topology.DRIVER/zone".  A volume in a directory of one
 * machine is accessible from the node of that name, any other from all nodes of its zone; its pool
 * tells which.  So a driver with host among its segments needs the right to list pools (an
 * administrator).
 */
#pragma once

#include "client/pools.h"
#include "client/volumes.h"
#include "csi/driver.private.h"

/* The segments of this node, in the arena; NULL: none. */
Csi__V1__Topology *topology_of_node(const struct csi_driver *driver, struct arena *arena,
                                    const char *node_id);

/* The pools of volumes, as far as the segments in use need them. */
struct topology_pools {
    const struct csi_driver *driver;
    struct remote_pool *pools; /* of the requested type */
    unsigned count;
    bool known; /* the API has listed its pools */
};
/* -1: failed. */
int topology_pools_read(const struct grpc_call *call, const struct client *api, const char *type,
                        struct topology_pools *ret, struct error *err);

/* Adds the capacity of the pools that are accessible from the topology. */
void topology_pools_capacity(const struct topology_pools *places, const Csi__V1__Topology *topology,
                             struct remote_room *capacity);
/* Requests a zone and pools that match a preferred, or a required topology:
 * GRPC_RESOURCE_EXHAUSTED. */
int topology_pools_choose(const struct topology_pools *places, struct arena *arena,
                          const Csi__V1__TopologyRequirement *wanted,
                          struct remote_volume_new *volume, struct error *err);
/* Does the volume match the requirement? */
bool topology_pools_match(const struct topology_pools *places,
                          const Csi__V1__TopologyRequirement *wanted,
                          const struct remote_volume *volume);
/* Sets the volume's accessible topology in `shown`. */
void topology_pools_describe(const struct topology_pools *places, struct arena *arena,
                             const struct remote_volume *volume, Csi__V1__Volume *shown);
