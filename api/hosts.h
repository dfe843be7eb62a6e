/*
 * Where volumes are: the services' hosts with what stands on them, and the availability zones.
 */
#pragma once

#include "api/request.h"

int hosts_list(struct request *request, struct error *err);       /* /os-hosts */
int hosts_show(struct request *request, struct error *err);       /* /os-hosts/{host} */
int hosts_list_zones(struct request *request, struct error *err); /* /os-availability-zone */
