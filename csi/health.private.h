/*
 * Can the driver work?  For the probes of CSI and of CSI-Addons.
 */
#pragma once

#include "csi/driver.private.h"

/*
 * Asks the volume API who it is.  It answers as one: ready.  It cannot be reached, or says that it
 * cannot answer now: not ready, which is asked again; ending the driver would mend nothing.  What
 * answers is none: FAILED_PRECONDITION, which an operator must see.  A node alone is ready: it is
 * told what it needs by its callers, and volumes are unmounted without the API, too.
 */
int csi_health(struct grpc_call *call, Csi__V1__BoolValue **ret, struct error *err);
