/*
 * Backends for administrators: pools and capabilities.
 */
#pragma once

#include "rest/request.h"
#include "rest/resource.h"
#include "rest/shape.h"

extern const struct resource pool_resource;

int pools_list(struct request *request, struct error *err); /* /scheduler-stats/get_pools */
int pools_show_capabilities(struct request *request, struct error *err); /* /capabilities/{host} */
extern const struct shape pool_shape, capabilities_shape;
