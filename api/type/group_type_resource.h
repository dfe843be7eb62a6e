/*
 * Group types as a resource: loaded, listed and shown.
 */
#pragma once

#include "model/type/group_type.h"
#include "rest/resource.h"
#include "rest/shape.h"

extern const struct resource group_type_resource;

extern const struct shape group_type_shape;
/* In the route's form: {"group_type": …}. */
void group_type_answer(struct request *request, const struct group_type *type);
