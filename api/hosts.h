/*
 * The services' hosts with their volumes, and the availability zones.
 */
#pragma once

#include "rest/request.h"
#include "rest/shape.h"

int hosts_list(struct request *request, struct error *err);       /* /os-hosts */
int hosts_show(struct request *request, struct error *err);       /* /os-hosts/{host} */
int hosts_list_zones(struct request *request, struct error *err); /* /os-availability-zone */
extern const struct shape host_shape, host_resource_shape, zone_shape;
