/*
 * The health check for the probes of CSI and of CSI-Addons.
 */
#pragma once

#include "csi/driver.private.h"

/*
 * Queries the volume API's version.  A valid response: ready.  No response, or a temporary failure:
 * not ready, which is retried; restarting the driver would not help.  Another server's response:
 * FAILED_PRECONDITION, which an operator must resolve.  A driver with the node service only is
 * always ready: its callers provide what it needs, and volumes are unmounted without the API.
 */
int csi_health(struct grpc_call *call, Csi__V1__BoolValue **ret, struct error *err);
