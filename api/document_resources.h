/*
 * Documents of declared/ on this API: a resource for each kind, wrapped as the objects of this API
 * are.  {id} in a path is a name or a uid.
 */
#pragma once

#include "api/routes.h"
#include "declared/document.h"

extern const struct resource volume_policy_resource, volume_config_resource,
    replicated_volume_resource, volume_replica_resource, volume_config_snapshot_resource;
extern const struct shape volume_policy_shape, volume_config_shape, replicated_volume_shape,
    volume_replica_shape, volume_config_snapshot_shape;

/* The kind that the request's route is about. */
const struct document_kind *document_kind_asked(const struct request *request);
