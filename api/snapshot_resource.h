/*
 * Snapshots as the API knows them: loaded, listed and shown.
 */
#pragma once

#include "api/resource.h"
#include "volume/snapshot.h"

extern const struct resource snapshot_resource;

/* The full object; os-extended-… only where `attributes`: show and detail. */
void snapshot_view(struct request *request, const struct snapshot *snapshot, bool attributes);
