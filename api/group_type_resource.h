/*
 * Group types as a resource: how one is loaded, listed and shown.
 */
#pragma once

#include "api/resource.h"
#include "api/shape.h"
#include "volume/group_type.h"

extern const struct resource group_type_resource;

extern const struct shape group_type_shape;
/* As the route says: {"group_type": …}. */
void group_type_answer(struct request *request, const struct group_type *type);
