/*
 * Snapshots as a resource: loaded, listed and shown.
 */
#pragma once

#include "api/resource.h"
#include "api/shape.h"
#include "model/snapshot/snapshot.h"

extern const struct resource snapshot_resource;

/* With rights 0: without os-extended-…, which show and detail have. */
extern const struct shape snapshot_shape;
/* As of the first version. */
extern const struct shape snapshot_short_shape;
