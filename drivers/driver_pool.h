/*
 * The report of a backend's pools: their capacity, and features that volumes there can or cannot
 * have.  It decides the placement of volumes and the operations on them.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* A capability of pools: is a snapshot below a guest made by the guest's host?  Missing:
 * unknown. */
#define POOL_SNAPSHOT_OVERLAYS "snapshot_overlays"
/* Does the backend track connections (disconnect)?  Then a volume is connected to one host at a
 * time, */
#define POOL_ENDS_CONNECTIONS "ends_connections"
/* or, with this capability, to the hosts of one instance and its migration. */
#define POOL_MOVES_INSTANCES "moves_instances"
/* Discards of guests do not reach the storage: space of a volume is reclaimed while it is
 * detached. */
#define POOL_KEEPS_DISCARDS "keeps_discards"
/* The largest volume in GiB.  Missing: only the capacity limits it. */
#define POOL_LARGEST_GB "largest_volume_gb"
/* A list: extra specs of the driver itself.  A type with one of them is only for such pools,
 * whatever its value. */
#define POOL_EXTRA_SPECS "extra_specs"

/* The known ones. */
#define DRIVER_SPEC_POLICY   "cstorVolumePolicy"
#define DRIVER_SPEC_REPLICAS "replicaCount"

struct driver_pool {
    const char *name;
    double total_gb, free_gb; /* < 0: unknown */
    bool infinite;
    json_t *capabilities; /* more keys of the pool report; owned by the caller afterwards */
};
