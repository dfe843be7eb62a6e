/*
 * Group snapshots as a resource (group_snapshots.c).
 */
#pragma once

#include "rest/resource.h"

extern const struct resource group_snapshot_resource;
/* Those of consistency groups. */
extern const struct resource cgsnapshot_resource;
