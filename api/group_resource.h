/*
 * Groups as a resource: how one is loaded, listed and shown.
 */
#pragma once

#include "api/resource.h"
#include "volume/group.h"

extern const struct resource group_resource;

/* {"group": {id, name}} */
void group_answer(struct request *request, const struct volume_group *group);
