/*
 * Documents of declared/ in this API: a resource for each kind, wrapped like the other objects of
 * the API. {id} in a path is a name or a uid.
 */
#pragma once

#include "declared/document.h"
#include "rest/route.h"

extern const struct resource volume_policy_resource, volume_config_resource,
    replicated_volume_resource, volume_replica_resource, volume_config_snapshot_resource;
extern const struct shape volume_policy_shape, volume_config_shape, replicated_volume_shape,
    volume_replica_shape, volume_config_snapshot_shape;

/* The kind of the request's route. */
const struct document_kind *document_kind_asked(const struct request *request);
