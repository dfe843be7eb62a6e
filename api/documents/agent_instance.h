/*
 * The instance id of the storage agent that sends a request (common/scoria_headers.h).
 */
#pragma once

#include "rest/request.h"

/* *ret: NULL without the header.  ERROR_BAD_REQUEST when it is not a UUID. */
int agent_instance(const struct request *request, const char **ret, struct error *err);
/* replica_pool_check_instance() of the request's. */
int agent_instance_check(struct request *request, const char *node, struct error *err);
