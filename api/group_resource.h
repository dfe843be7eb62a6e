/*
 * Groups as a resource: how one is loaded, listed and shown.
 */
#pragma once

#include "api/resource.h"
#include "api/shape.h"
#include "volume/group.h"

extern const struct resource group_resource;

/* What a change answers. */
extern const struct shape group_short_shape;
