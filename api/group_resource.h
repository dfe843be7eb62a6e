/*
 * Groups as a resource: how one is loaded, listed and shown.
 */
#pragma once

#include "api/resource.h"
#include "api/shape.h"
#include "volume/group.h"

struct page;

/* A group, or a consistency group: one of the reserved type.  Neither is there as the other. */
extern const struct resource group_resource, consistency_group_resource;

/* Conditions the type of what is listed: "g.group_type_id IN" those that are reserved, or "NOT IN". */
void group_narrow(struct request *request, struct page *page, const char *column_in);

/* What a change answers. */
extern const struct shape group_short_shape;
