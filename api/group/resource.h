/*
 * Groups as a resource: loaded, listed and shown.
 */
#pragma once

#include "model/group/group.h"
#include "rest/resource.h"
#include "rest/shape.h"

struct page;

/* A group, or a consistency group: one of the reserved type.  Each is hidden from the other
 * resource. */
extern const struct resource group_resource, consistency_group_resource;

/* Restricts the type of listed groups: "g.group_type_id IN" the reserved ones, or "NOT IN". */
void group_narrow(struct request *request, struct page *page, const char *column_in);

/* Response to a change. */
extern const struct shape group_short_shape;
