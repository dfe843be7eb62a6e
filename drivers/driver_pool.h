/*
 * What a backend tells of its pools: their room, and what volumes there can or cannot have, which
 * decides where a volume is placed and what may be asked of it.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* In a pool's capabilities: may a snapshot below a guest be left to the guest's host?  Where it is
 * not said nobody knows. */
#define POOL_SNAPSHOT_OVERLAYS "snapshot_overlays"
/* And is the end of a connection the backend's business, too (disconnect)?  Then a volume is
 * connected to one host at a time, */
#define POOL_ENDS_CONNECTIONS "ends_connections"
/* but where this is said to that of one instance and to those that it moves to. */
#define POOL_MOVES_INSTANCES "moves_instances"
/* What a guest discards goes nowhere: a volume gives back room while nobody is connected alone. */
#define POOL_KEEPS_DISCARDS "keeps_discards"
/* A number of GiB: no volume can be larger.  Where it is not said the room alone decides. */
#define POOL_LARGEST_GB "largest_volume_gb"
/* A list: keys of extra specs that are the driver's own.  A type with one of them is for such pools
 * alone, whatever the value. */
#define POOL_EXTRA_SPECS "extra_specs"

/* Those there are. */
#define DRIVER_SPEC_POLICY   "cstorVolumePolicy"
#define DRIVER_SPEC_REPLICAS "replicaCount"

struct driver_pool {
    const char *name;
    double total_gb, free_gb; /* < 0: unknown */
    bool infinite;
    json_t *capabilities; /* more keys for the pool report; owned by the caller afterwards */
};
