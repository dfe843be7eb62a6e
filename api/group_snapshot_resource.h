/*
 * Group snapshots as a resource (group_snapshots.c).
 */
#pragma once

#include "api/resource.h"

extern const struct resource group_snapshot_resource;
/* Those of consistency groups. */
extern const struct resource cgsnapshot_resource;
