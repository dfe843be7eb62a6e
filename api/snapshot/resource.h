/*
 * Snapshots as a resource: loaded, listed and shown.
 */
#pragma once

#include "model/snapshot/snapshot.h"
#include "rest/resource.h"
#include "rest/shape.h"

extern const struct resource snapshot_resource;

/* With rights 0: without os-extended-…, which show and detail have. */
extern const struct shape snapshot_shape;
/* As of the first version. */
extern const struct shape snapshot_short_shape;
